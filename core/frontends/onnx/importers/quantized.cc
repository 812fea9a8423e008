// Models that came quantized: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, and the
// integer operators, which are written with wider integers.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/window.h"
#include "core/ops/convolution.h"
#include "core/ops/pointwise.h"
#include "core/ops/quantize_linear.h"
#include "core/ops/reduce.h"

namespace qb::onnx_import {
namespace {
absl::StatusOr<QuantizeLinearAttrs> ReadAxis(NodeImporter& node, const Shape& x,
                                             const Shape& scale) {
  QuantizeLinearAttrs attrs;
  int64_t axis = 1;
  if (node.opset() >= 13) {
    QB_ASSIGN_OR_RETURN(axis, node.IntAttr("axis", 1));
  }
  if (node.opset() >= 21) {
    QB_ASSIGN_OR_RETURN(attrs.block_size, node.IntAttr("block_size", 0));
  }
  node.IgnoreAttr("saturate");  // for 8-bit floats
  if (scale.elements() == 1 && attrs.block_size == 0) {
    return attrs;
  }
  QB_ASSIGN_OR_RETURN(attrs.axis, NormalizeAxis(axis, x.rank()));
  return attrs;
}

// The zero point of the node, or zeros of `dtype` in the shape of the scale.
absl::StatusOr<Node*> ZeroPoint(NodeImporter& node, const Node* scale, DType dtype) {
  if (node.HasInput(2)) {
    return node.Input(2, "zero_point");
  }
  return node.AddConstant("zero_point", Tensor::Allocate({dtype, scale->shape()}));
}

// value - zero_point in int32; the zero point may have one number for each row or column.
absl::StatusOr<Node*> Centered(NodeImporter& node, const std::string& role, Node* value,
                               int64_t zero_point_input, int64_t trailing_axes) {
  QB_ASSIGN_OR_RETURN(Node * wide, node.AddCast(role + "_wide", value, DType::kInt32));
  if (!node.HasInput(zero_point_input)) {
    return wide;
  }
  QB_ASSIGN_OR_RETURN(Node * zero, node.Input(zero_point_input, "a zero point"));
  QB_ASSIGN_OR_RETURN(zero, node.AddCast(role + "_zero", zero, DType::kInt32));
  if (zero->shape().rank() == 1 && zero->shape().elements() > 1 && trailing_axes > 0) {
    std::vector<int64_t> dims = zero->shape().dims();
    dims.insert(dims.end(), static_cast<size_t>(trailing_axes), 1);
    QB_ASSIGN_OR_RETURN(zero, node.AddReshape(role + "_zeros", zero, Shape(std::move(dims))));
  } else if (zero->shape().elements() == 1) {
    QB_ASSIGN_OR_RETURN(zero, node.AddReshape(role + "_zeros", zero, {}));
  }
  return node.Add(role, OpKind::kSub, {wide, zero});
}

// saturate(round(value * scale_a * scale_b / scale_y) + zero_y): the end of the QLinear operators.
absl::StatusOr<Node*> Requantized(NodeImporter& node, Node* value, std::array<Node*, 3> scales,
                                  Node* zero_y) {
  for (Node*& scale : scales) {
    QB_ASSIGN_OR_RETURN(scale, node.AddCast("scale", scale, DType::kFloat32));
  }
  QB_ASSIGN_OR_RETURN(Node * product,
                      node.Add("scales", OpKind::kMultiply, {scales[0], scales[1]}));
  QB_ASSIGN_OR_RETURN(Node * real, node.AddCast("real", value, DType::kFloat32));
  QB_ASSIGN_OR_RETURN(Node * scaled, node.Add("scaled", OpKind::kMultiply, {real, product}));
  const Shape& shape = scales[2]->shape();
  if (shape.elements() != 1) {
    return absl::UnimplementedError(absl::StrCat("a result scale of shape ", shape.ToString(),
                                                 " is not supported; one number is"));
  }
  QB_ASSIGN_OR_RETURN(Node * scale_y, node.AddReshape("y_scale", scales[2], {}));
  QB_ASSIGN_OR_RETURN(Node * zero, node.AddReshape("y_zero_point", zero_y, {}));
  return node.Add("", OpKind::kQuantizeLinear, {scaled, scale_y, zero}, QuantizeLinearAttrs());
}

// One scale for each channel of the weights, along the channels of the result.
absl::StatusOr<Node*> ChannelScale(NodeImporter& node, Node* scale, int64_t rank) {
  if (scale->shape().elements() == 1) {
    return node.AddReshape("w_scale", scale, {});
  }
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  dims[1] = scale->shape().elements();
  return node.AddReshape("w_scale", scale, Shape(std::move(dims)));
}

struct IntegerConvolution {
  Node* x = nullptr;  // centered, int32
  Node* w = nullptr;
  Node* bias = nullptr;  // null: none
};

// An integer convolution in the graph's own operator, on int32.
absl::StatusOr<Node*> AddConvolution(NodeImporter& node, const std::string& role,
                                     const IntegerConvolution& parts) {
  const Shape& weights = parts.w->shape();
  if (weights.rank() != parts.x->shape().rank() || weights.rank() < 3) {
    return absl::InvalidArgumentError(absl::StrCat("input ", parts.x->shape().ToString(),
                                                   " and weights ", weights.ToString(),
                                                   " differ in rank"));
  }
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> declared, node.IntsAttr("kernel_shape"));
  const std::vector<int64_t> kernel(weights.begin() + 2, weights.end());
  if (!declared.empty() && declared != kernel) {
    return absl::InvalidArgumentError("kernel_shape is not that of the weights");
  }
  QB_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, parts.x->shape(), kernel));
  QB_ASSIGN_OR_RETURN(Node * image, AsImage(node, "x_image", parts.x));
  QB_ASSIGN_OR_RETURN(Node * image_weights, AsImage(node, "w_image", parts.w));
  ConvolutionAttrs attrs;
  SetWindow(window, attrs);
  QB_ASSIGN_OR_RETURN(attrs.group_number, node.IntAttr("group", 1));
  std::vector<Node*> operands = {image, image_weights};
  if (parts.bias != nullptr) {
    operands.push_back(parts.bias);
  }
  const bool flat = parts.x->shape().rank() == 3;
  QB_ASSIGN_OR_RETURN(Node * result, node.Add(flat ? role + "2d" : role, OpKind::kConvolution,
                                              operands, std::move(attrs)));
  if (!flat) {
    return result;
  }
  const Shape& shape = result->shape();
  return node.AddReshape(role, result, {shape[0], shape[1], shape[3]});
}

}  // namespace

absl::Status ImportQuantizeLinear(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "x"));
  QB_ASSIGN_OR_RETURN(Node * scale, node.Input(1, "y_scale"));
  DType dtype = DType::kUint8;
  // 0, the default, leaves the type to the zero point.
  if (node.opset() >= 21 && node.HasAttr("output_dtype")) {
    QB_ASSIGN_OR_RETURN(const int64_t number, node.IntAttr("output_dtype", 0));
    if (number != 0) {
      QB_ASSIGN_OR_RETURN(dtype, node.DTypeAttr("output_dtype", dtype));
    }
  }
  QB_ASSIGN_OR_RETURN(Node * zero, ZeroPoint(node, scale, dtype));
  QB_ASSIGN_OR_RETURN(QuantizeLinearAttrs attrs, ReadAxis(node, x->shape(), scale->shape()));
  return node.Finish(node.Add("", OpKind::kQuantizeLinear, {x, scale, zero}, std::move(attrs)));
}

absl::Status ImportDequantizeLinear(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "x"));
  QB_ASSIGN_OR_RETURN(Node * scale, node.Input(1, "x_scale"));
  QB_ASSIGN_OR_RETURN(Node * zero, ZeroPoint(node, scale, x->type().dtype));
  QB_ASSIGN_OR_RETURN(QuantizeLinearAttrs attrs, ReadAxis(node, x->shape(), scale->shape()));
  return node.Finish(node.Add("", OpKind::kDequantizeLinear, {x, scale, zero}, std::move(attrs)));
}

// The range of x with 0 in it becomes 0 to 255. Source: ONNX DynamicQuantizeLinear.
absl::Status ImportDynamicQuantizeLinear(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "x"));
  QB_ASSIGN_OR_RETURN(Node * flat, node.AddReshape("flat", x, {x->shape().elements()}));
  ReduceAttrs all;
  all.reduce_axes = {0};
  all.keep_dims = false;
  QB_ASSIGN_OR_RETURN(Node * zero, node.AddScalar("zero", DType::kFloat32, 0.0));
  QB_ASSIGN_OR_RETURN(Node * steps, node.AddScalar("steps", DType::kFloat32, 255.0));
  QB_ASSIGN_OR_RETURN(Node * most, node.Add("max", OpKind::kReduceMax, {flat}, all));
  QB_ASSIGN_OR_RETURN(Node * least, node.Add("min", OpKind::kReduceMin, {flat}, all));
  QB_ASSIGN_OR_RETURN(most, node.Add("high", OpKind::kMaximum, {most, zero}));
  QB_ASSIGN_OR_RETURN(least, node.Add("low", OpKind::kMinimum, {least, zero}));
  QB_ASSIGN_OR_RETURN(Node * range, node.Add("range", OpKind::kSub, {most, least}));
  QB_ASSIGN_OR_RETURN(Node * scale, node.Add("scale", OpKind::kDiv, {range, steps}));
  QB_ASSIGN_OR_RETURN(Node * start, node.Add("start", OpKind::kSub, {zero, least}));
  QB_ASSIGN_OR_RETURN(Node * offset, node.Add("offset", OpKind::kDiv, {start, scale}));
  QB_ASSIGN_OR_RETURN(Node * rounded, node.Add("rounded", OpKind::kRound, {offset}));
  ClipAttrs bounds;
  bounds.clip_min_value = 0.0f;
  bounds.clip_max_value = 255.0f;
  QB_ASSIGN_OR_RETURN(rounded, node.Add("bounded", OpKind::kClip, {rounded}, std::move(bounds)));
  QB_ASSIGN_OR_RETURN(Node * zero_point, node.AddCast("zero_point", rounded, DType::kUint8));
  QB_RETURN_IF_ERROR(node.Finish(
      node.Add("", OpKind::kQuantizeLinear, {x, scale, zero_point}, QuantizeLinearAttrs())));
  QB_RETURN_IF_ERROR(node.SetOutput(1, scale));
  return node.SetOutput(2, zero_point);
}

absl::Status ImportMatMulInteger(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * a, node.Input(0, "A"));
  QB_ASSIGN_OR_RETURN(Node * b, node.Input(1, "B"));
  QB_ASSIGN_OR_RETURN(a, Centered(node, "a", a, 2, 1));
  QB_ASSIGN_OR_RETURN(b, Centered(node, "b", b, 3, 0));
  return node.Finish(node.Add("", OpKind::kMatMul, {a, b}));
}

absl::Status ImportQLinearMatMul(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * a, node.Input(0, "a"));
  QB_ASSIGN_OR_RETURN(Node * a_scale, node.Input(1, "a_scale"));
  QB_ASSIGN_OR_RETURN(Node * b, node.Input(3, "b"));
  QB_ASSIGN_OR_RETURN(Node * b_scale, node.Input(4, "b_scale"));
  QB_ASSIGN_OR_RETURN(Node * y_scale, node.Input(6, "y_scale"));
  QB_ASSIGN_OR_RETURN(Node * y_zero, node.Input(7, "y_zero_point"));
  QB_ASSIGN_OR_RETURN(a, Centered(node, "a", a, 2, 1));
  QB_ASSIGN_OR_RETURN(b, Centered(node, "b", b, 5, 0));
  QB_ASSIGN_OR_RETURN(Node * product, node.Add("product", OpKind::kMatMul, {a, b}));
  return node.Finish(Requantized(node, product, {a_scale, b_scale, y_scale}, y_zero));
}

absl::Status ImportConvInteger(NodeImporter& node) {
  IntegerConvolution parts;
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "x"));
  QB_ASSIGN_OR_RETURN(Node * w, node.Input(1, "w"));
  QB_ASSIGN_OR_RETURN(parts.x, Centered(node, "x", x, 2, 0));
  QB_ASSIGN_OR_RETURN(parts.w, Centered(node, "w", w, 3, w->shape().rank() - 1));
  return node.Finish(AddConvolution(node, "", parts));
}

absl::Status ImportQLinearConv(NodeImporter& node) {
  IntegerConvolution parts;
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "x"));
  QB_ASSIGN_OR_RETURN(Node * x_scale, node.Input(1, "x_scale"));
  QB_ASSIGN_OR_RETURN(Node * w, node.Input(3, "w"));
  QB_ASSIGN_OR_RETURN(Node * w_scale, node.Input(4, "w_scale"));
  QB_ASSIGN_OR_RETURN(Node * y_scale, node.Input(6, "y_scale"));
  QB_ASSIGN_OR_RETURN(Node * y_zero, node.Input(7, "y_zero_point"));
  QB_ASSIGN_OR_RETURN(parts.x, Centered(node, "x", x, 2, 0));
  QB_ASSIGN_OR_RETURN(parts.w, Centered(node, "w", w, 5, w->shape().rank() - 1));
  if (node.HasInput(8)) {
    QB_ASSIGN_OR_RETURN(parts.bias, node.Input(8, "B"));
  }
  QB_ASSIGN_OR_RETURN(Node * sum, AddConvolution(node, "sum", parts));
  QB_ASSIGN_OR_RETURN(x_scale, node.AddReshape("x_scale", x_scale, {}));
  QB_ASSIGN_OR_RETURN(w_scale, ChannelScale(node, w_scale, sum->shape().rank()));
  return node.Finish(Requantized(node, sum, {x_scale, w_scale, y_scale}, y_zero));
}

}  // namespace qb::onnx_import

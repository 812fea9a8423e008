// AveragePool, MaxPool and their global forms.
#include "core/ops/pooling.h"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/window.h"
#include "core/ops/reduce.h"
#include "core/ops/sampling.h"

namespace qb::onnx_import {
namespace {

// A 3-D window is a window over the pixels of each frame, then one along the depth: maxima and, as
// the divisor is a product over the axes, means come out the same.
absl::StatusOr<Node*> AddVolumePool(NodeImporter& node, absl::string_view role, Node* x,
                                    const Window& window, const PoolingAttrs& attrs) {
  const Shape& shape = x->shape();
  QB_ASSIGN_OR_RETURN(
      Node * frames,
      node.AddReshape("frames", x, {shape[0], shape[1] * shape[2], shape[3], shape[4]}));
  QB_ASSIGN_OR_RETURN(frames, node.Add("pixels", OpKind::kPooling, {frames}, attrs));
  const Shape pooled = frames->shape();
  QB_ASSIGN_OR_RETURN(
      Node * columns,
      node.AddReshape("columns", frames, {shape[0], shape[1], shape[2], pooled[2] * pooled[3]}));
  PoolingAttrs along = attrs;
  Window depth;
  depth.kernel[Window::kHeight] = window.kernel[Window::kDepth];
  depth.stride[Window::kHeight] = window.stride[Window::kDepth];
  depth.dilation[Window::kHeight] = window.dilation[Window::kDepth];
  depth.begin[Window::kHeight] = window.begin[Window::kDepth];
  depth.end[Window::kHeight] = window.end[Window::kDepth];
  SetWindow(depth, along);
  QB_ASSIGN_OR_RETURN(columns, node.Add("depth", OpKind::kPooling, {columns}, std::move(along)));
  return node.AddReshape(role, columns,
                         {shape[0], shape[1], columns->shape()[2], pooled[2], pooled[3]});
}

// Places of the largest elements in the whole input, counted by columns first when asked for.
absl::Status SetIndices(NodeImporter& node, Node* image, const Shape& input,
                        const PoolingAttrs& attrs, const Shape& result) {
  if (input.rank() == 5) {
    return absl::UnimplementedError("indices of the 3-D form are not supported");
  }
  QB_ASSIGN_OR_RETURN(Node * places, node.Add("places", OpKind::kPoolingIndices, {image}, attrs));
  QB_ASSIGN_OR_RETURN(const bool by_columns, node.BoolAttr("storage_order", false));
  if (by_columns) {
    const int64_t rows = image->shape()[2];
    const int64_t columns = image->shape()[3];
    const auto scalar = [&](absl::string_view role, int64_t value) {
      return node.AddScalar(role, DType::kInt64, static_cast<double>(value));
    };
    QB_ASSIGN_OR_RETURN(Node * row_length, scalar("columns", columns));
    QB_ASSIGN_OR_RETURN(Node * column_length, scalar("rows", rows));
    QB_ASSIGN_OR_RETURN(Node * plane, scalar("plane", rows * columns));
    QB_ASSIGN_OR_RETURN(Node * within, node.Add("within", OpKind::kMod, {places, plane}));
    QB_ASSIGN_OR_RETURN(Node * base, node.Add("base", OpKind::kSub, {places, within}));
    QB_ASSIGN_OR_RETURN(Node * column, node.Add("column", OpKind::kMod, {within, row_length}));
    QB_ASSIGN_OR_RETURN(Node * row, node.Add("row", OpKind::kDiv, {within, row_length}));
    QB_ASSIGN_OR_RETURN(column, node.Add("whole", OpKind::kMultiply, {column, column_length}));
    QB_ASSIGN_OR_RETURN(Node * turned, node.Add("turned", OpKind::kAdding, {column, row}));
    QB_ASSIGN_OR_RETURN(places, node.Add("by_columns", OpKind::kAdding, {base, turned}));
  }
  QB_ASSIGN_OR_RETURN(places, node.AddReshape("indices", places, result));
  return node.SetOutput(1, places);
}
absl::Status ImportPool(NodeImporter& node, PoolType type) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  const DType dtype = input->type().dtype;
  Node* x = input;
  if (dtype == DType::kInt8 || dtype == DType::kUint8) {  // float32 holds them exactly
    QB_ASSIGN_OR_RETURN(x, node.AddCast("real", input, DType::kFloat32));
  } else if (!IsFloat(dtype)) {
    return absl::UnimplementedError(absl::StrCat("an input of ", DTypeName(dtype),
                                                 " is not supported; float types and 8 bits are"));
  }
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, node.IntsAttr("kernel_shape"));
  QB_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, x->shape(), kernel));
  PoolingAttrs attrs;
  attrs.pool_type = type;
  SetWindow(window, attrs);
  QB_ASSIGN_OR_RETURN(attrs.is_ceil_mode, node.BoolAttr("ceil_mode", false));
  if (type == PoolType::kAverage) {
    QB_ASSIGN_OR_RETURN(attrs.is_include_pad, node.BoolAttr("count_include_pad", false));
  }
  const bool cast = x != input;
  Node* result = nullptr;
  Node* image = nullptr;
  if (x->shape().rank() == 5) {
    QB_ASSIGN_OR_RETURN(result, AddVolumePool(node, cast ? "pooled" : "", x, window, attrs));
  } else {
    const bool flat = x->shape().rank() == 3;
    QB_ASSIGN_OR_RETURN(image, AsImage(node, "x", x));
    QB_ASSIGN_OR_RETURN(result,
                        node.Add(flat || cast ? "2d" : "", OpKind::kPooling, {image}, attrs));
    if (flat) {
      const Shape& shape = result->shape();
      QB_ASSIGN_OR_RETURN(
          result, node.AddReshape(cast ? "pooled" : "", result, {shape[0], shape[1], shape[3]}));
    }
  }
  if (cast) {
    QB_ASSIGN_OR_RETURN(result, node.AddCast("", result, dtype));
  }
  if (node.HasOutput(1)) {
    QB_RETURN_IF_ERROR(SetIndices(node, image, x->shape(), attrs, result->shape()));
  }
  return node.Finish(result);
}

// All spatial dimensions of [N, C, ...].
absl::StatusOr<ReduceAttrs> SpatialReduction(const Node* input) {
  if (input->shape().rank() < 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the input has shape ", input->shape().ToString(), "; [N, C, ...] is accepted"));
  }
  ReduceAttrs attrs;
  attrs.reduce_axes.resize(static_cast<size_t>(input->shape().rank() - 2));
  std::iota(attrs.reduce_axes.begin(), attrs.reduce_axes.end(), 2);
  return attrs;
}

// |x|^p.
absl::StatusOr<Node*> AddPowers(NodeImporter& node, Node* x, int64_t p) {
  if (p < 1) {
    return absl::InvalidArgumentError(absl::StrCat("p is ", p, "; 1 and more is accepted"));
  }
  QB_ASSIGN_OR_RETURN(Node * magnitudes, node.Add("magnitudes", OpKind::kAbs, {x}));
  QB_ASSIGN_OR_RETURN(Node * exponent,
                      node.AddScalar("p", x->type().dtype, static_cast<double>(p)));
  return node.Add("powers", OpKind::kPow, {magnitudes, exponent});
}

absl::Status FinishRoot(NodeImporter& node, Node* sums, int64_t p) {
  QB_ASSIGN_OR_RETURN(Node * inverse,
                      node.AddScalar("inverse", sums->type().dtype, 1.0 / static_cast<double>(p)));
  return node.Finish(node.Add("", OpKind::kPow, {sums, inverse}));
}

}  // namespace

absl::Status ImportAveragePool(NodeImporter& node) { return ImportPool(node, PoolType::kAverage); }

absl::Status ImportMaxPool(NodeImporter& node) {
  node.IgnoreAttr("storage_order");  // of the second output
  return ImportPool(node, PoolType::kMax);
}

absl::Status ImportGlobalAveragePool(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  if (input->shape().rank() == 4) {
    return node.Finish(node.Add("", OpKind::kGlobalAveragePooling, {input}));
  }
  QB_ASSIGN_OR_RETURN(ReduceAttrs attrs, SpatialReduction(input));
  return node.Finish(node.Add("", OpKind::kReduceMean, {input}, std::move(attrs)));
}

absl::Status ImportGlobalMaxPool(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(ReduceAttrs attrs, SpatialReduction(input));
  return node.Finish(node.Add("", OpKind::kReduceMax, {input}, std::move(attrs)));
}

// (sum of |x|^p over the window)^(1/p): a mean that counts the padding, times the window's
// elements.
absl::Status ImportLpPool(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(const int64_t p, node.IntAttr("p", 2));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, node.IntsAttr("kernel_shape"));
  QB_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, x->shape(), kernel));
  QB_ASSIGN_OR_RETURN(const bool ceil_mode, node.BoolAttr("ceil_mode", false));
  if (ceil_mode) {
    return absl::UnimplementedError("ceil_mode is not supported");
  }
  QB_ASSIGN_OR_RETURN(Node * powers, AddPowers(node, x, p));
  PoolingAttrs attrs;
  attrs.pool_type = PoolType::kAverage;
  attrs.is_include_pad = true;
  SetWindow(window, attrs);
  Node* means = nullptr;
  if (x->shape().rank() == 5) {
    QB_ASSIGN_OR_RETURN(means, AddVolumePool(node, "means", powers, window, attrs));
  } else {
    QB_ASSIGN_OR_RETURN(Node * image, AsImage(node, "x", powers));
    QB_ASSIGN_OR_RETURN(means, node.Add("means", OpKind::kPooling, {image}, std::move(attrs)));
    if (x->shape().rank() == 3) {
      const Shape& shape = means->shape();
      QB_ASSIGN_OR_RETURN(means, node.AddReshape("flat", means, {shape[0], shape[1], shape[3]}));
    }
  }
  double elements = 1.0;
  for (const int64_t extent : kernel) {
    elements *= static_cast<double>(extent);
  }
  QB_ASSIGN_OR_RETURN(Node * count, node.AddScalar("elements", x->type().dtype, elements));
  QB_ASSIGN_OR_RETURN(Node * sums, node.Add("sums", OpKind::kMultiply, {means, count}));
  return FinishRoot(node, sums, p);
}

absl::Status ImportGlobalLpPool(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(const int64_t p, node.IntAttr("p", 2));
  QB_ASSIGN_OR_RETURN(Node * powers, AddPowers(node, x, p));
  QB_ASSIGN_OR_RETURN(ReduceAttrs attrs, SpatialReduction(x));
  QB_ASSIGN_OR_RETURN(Node * sums,
                      node.Add("sums", OpKind::kReduceSum, {powers}, std::move(attrs)));
  return FinishRoot(node, sums, p);
}

}  // namespace qb::onnx_import

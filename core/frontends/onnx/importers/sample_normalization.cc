// Normalizations by statistics of the sample: LayerNormalization, GroupNormalization,
// InstanceNormalization, LRN, LpNormalization, MeanVarianceNormalization.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/axes.h"
#include "core/ops/movement.h"
#include "core/ops/normalization.h"
#include "core/ops/pooling.h"
#include "core/ops/reduce.h"

namespace qb::onnx_import {
namespace {

absl::StatusOr<Node*> Squared(NodeImporter& node, absl::string_view role, Node* x) {
  return node.Add(role, OpKind::kMultiply, {x, x});
}

// mean, and 1 / sqrt(variance + epsilon), over the axes from `axis` on: the further outputs.
absl::Status AddStatistics(NodeImporter& node, Node* input, int64_t axis, float epsilon) {
  ReduceAttrs over;
  over.reduce_axes.resize(static_cast<size_t>(input->shape().rank() - axis));
  std::iota(over.reduce_axes.begin(), over.reduce_axes.end(), axis);
  QB_ASSIGN_OR_RETURN(Node * mean, node.Add("mean", OpKind::kReduceMean, {input}, over));
  QB_RETURN_IF_ERROR(node.SetOutput(1, mean));
  if (!node.HasOutput(2)) {
    return absl::OkStatus();
  }
  const DType dtype = input->type().dtype;
  QB_ASSIGN_OR_RETURN(Node * centered, node.Add("centered", OpKind::kSub, {input, mean}));
  QB_ASSIGN_OR_RETURN(Node * squares, Squared(node, "squares", centered));
  QB_ASSIGN_OR_RETURN(Node * variance, node.Add("variance", OpKind::kReduceMean, {squares}, over));
  QB_ASSIGN_OR_RETURN(Node * small, node.AddScalar("epsilon", dtype, epsilon));
  QB_ASSIGN_OR_RETURN(Node * sum, node.Add("shifted", OpKind::kAdding, {variance, small}));
  QB_ASSIGN_OR_RETURN(Node * deviation, node.Add("deviation", OpKind::kSqrt, {sum}));
  QB_ASSIGN_OR_RETURN(Node * one, node.AddScalar("one", dtype, 1.0));
  QB_ASSIGN_OR_RETURN(Node * inverse, node.Add("inverse", OpKind::kDiv, {one, deviation}));
  return node.SetOutput(2, inverse);
}

// `parameter` broadcast to `shape`, as the normalization's own operand has to be.
absl::StatusOr<Node*> AsParameter(NodeImporter& node, absl::string_view role, Node* parameter,
                                  const Shape& shape) {
  if (parameter->shape() == shape) {
    return parameter;
  }
  ExpandAttrs attrs;
  attrs.shape = shape.dims();
  return node.Add(role, OpKind::kExpand, {parameter}, std::move(attrs));
}

}  // namespace

absl::Status ImportLayerNormalization(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * scale, node.Input(1, "Scale"));
  QB_ASSIGN_OR_RETURN(const int64_t axis, node.IntAttr("axis", -1));
  node.IgnoreAttr("stash_type");  // statistics are computed in float32 at least
  LayerNormalizationAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.axis, NormalizeAxis(axis, input->shape().rank()));
  QB_ASSIGN_OR_RETURN(attrs.epsilon, node.FloatAttr("epsilon", 1e-5f));
  const std::vector<int64_t>& dims = input->shape().dims();
  const Shape normalized(std::vector<int64_t>(dims.begin() + attrs.axis, dims.end()));
  QB_ASSIGN_OR_RETURN(scale, AsParameter(node, "scale", scale, normalized));
  std::vector<Node*> operands = {input, scale};
  if (node.HasInput(2)) {
    QB_ASSIGN_OR_RETURN(Node * bias, node.Input(2, "B"));
    QB_ASSIGN_OR_RETURN(bias, AsParameter(node, "bias", bias, normalized));
    operands.push_back(bias);
  }
  QB_RETURN_IF_ERROR(node.Finish(node.Add("", OpKind::kLayerNormalization, operands, attrs)));
  if (node.HasOutput(1) || node.HasOutput(2)) {
    return AddStatistics(node, input, attrs.axis, attrs.epsilon);
  }
  return absl::OkStatus();
}

absl::Status ImportInstanceNormalization(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(Node * scale, node.Input(1, "scale"));
  QB_ASSIGN_OR_RETURN(Node * bias, node.Input(2, "B"));
  if (input->shape().rank() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the input has shape ", input->shape().ToString(), "; [N, C, ...] is accepted"));
  }
  GroupNormalizationAttrs attrs;
  attrs.num_groups = input->shape()[1];
  QB_ASSIGN_OR_RETURN(attrs.epsilon, node.FloatAttr("epsilon", 1e-5f));
  return node.Finish(
      node.Add("", OpKind::kGroupNormalization, {input, scale, bias}, std::move(attrs)));
}

// Opset 18 had one scale and bias a group, 21 has one a channel.
absl::Status ImportGroupNormalization(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * scale, node.Input(1, "scale"));
  QB_ASSIGN_OR_RETURN(Node * bias, node.Input(2, "bias"));
  node.IgnoreAttr("stash_type");
  GroupNormalizationAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.num_groups, node.RequiredIntAttr("num_groups"));
  QB_ASSIGN_OR_RETURN(attrs.epsilon, node.FloatAttr("epsilon", 1e-5f));
  const int64_t channels = input->shape().rank() > 1 ? input->shape()[1] : 0;
  if (node.opset() < 21 && attrs.num_groups > 0 && channels % attrs.num_groups == 0) {
    const Shape grouped = {attrs.num_groups, channels / attrs.num_groups};
    for (Node** parameter : {&scale, &bias}) {
      const std::string role = parameter == &scale ? "scale" : "bias";
      QB_ASSIGN_OR_RETURN(Node * column,
                          node.AddReshape(role + "_group", *parameter, {attrs.num_groups, 1}));
      QB_ASSIGN_OR_RETURN(Node * spread, AsParameter(node, role + "_all", column, grouped));
      QB_ASSIGN_OR_RETURN(*parameter, node.AddReshape(role, spread, {channels}));
    }
  }
  return node.Finish(
      node.Add("", OpKind::kGroupNormalization, {input, scale, bias}, std::move(attrs)));
}

// x / (bias + alpha / size * sum of squares over `size` channels)^beta. An average that counts the
// padding is the sum over size.
absl::Status ImportLrn(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(const int64_t size, node.RequiredIntAttr("size"));
  QB_ASSIGN_OR_RETURN(const float alpha, node.FloatAttr("alpha", 1e-4f));
  QB_ASSIGN_OR_RETURN(const float beta, node.FloatAttr("beta", 0.75f));
  QB_ASSIGN_OR_RETURN(const float bias, node.FloatAttr("bias", 1.0f));
  const Shape shape = input->shape();
  if (shape.rank() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input has shape ", shape.ToString(), "; [N, C, ...] is accepted"));
  }
  const DType dtype = input->type().dtype;
  const int64_t pixels = shape.elements() / std::max<int64_t>(shape[0] * shape[1], 1);
  QB_ASSIGN_OR_RETURN(Node * squares, Squared(node, "squares", input));
  QB_ASSIGN_OR_RETURN(squares,
                      node.AddReshape("columns", squares, {shape[0], 1, shape[1], pixels}));
  PoolingAttrs window;
  window.pool_type = PoolType::kAverage;
  window.is_include_pad = true;
  window.h_kernel = size;
  window.north_padding = (size - 1) / 2;
  window.south_padding = size - 1 - window.north_padding;
  QB_ASSIGN_OR_RETURN(Node * means, node.Add("means", OpKind::kPooling, {squares}, window));
  QB_ASSIGN_OR_RETURN(means, node.AddReshape("sums", means, shape));
  QB_ASSIGN_OR_RETURN(Node * factor, node.AddScalar("alpha", dtype, alpha));
  QB_ASSIGN_OR_RETURN(Node * scaled, node.Add("scaled", OpKind::kMultiply, {means, factor}));
  QB_ASSIGN_OR_RETURN(Node * offset, node.AddScalar("bias", dtype, bias));
  QB_ASSIGN_OR_RETURN(Node * base, node.Add("base", OpKind::kAdding, {scaled, offset}));
  QB_ASSIGN_OR_RETURN(Node * exponent, node.AddScalar("beta", dtype, beta));
  QB_ASSIGN_OR_RETURN(Node * divisor, node.Add("divisor", OpKind::kPow, {base, exponent}));
  return node.Finish(node.Add("", OpKind::kDiv, {input, divisor}));
}

absl::Status ImportLpNormalization(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(const int64_t axis, node.IntAttr("axis", -1));
  QB_ASSIGN_OR_RETURN(const int64_t p, node.IntAttr("p", 2));
  if (p != 1 && p != 2) {
    return absl::InvalidArgumentError(absl::StrCat("p is ", p, "; 1 and 2 are accepted"));
  }
  ReduceAttrs over;
  QB_ASSIGN_OR_RETURN(over.reduce_axes, SortedAxes({axis}, input->shape().rank()));
  QB_ASSIGN_OR_RETURN(Node * powers, p == 1 ? node.Add("magnitudes", OpKind::kAbs, {input})
                                            : Squared(node, "squares", input));
  QB_ASSIGN_OR_RETURN(Node * norm, node.Add("sum", OpKind::kReduceSum, {powers}, over));
  if (p == 2) {
    QB_ASSIGN_OR_RETURN(norm, node.Add("norm", OpKind::kSqrt, {norm}));
  }
  // Zeros stay zeros.
  QB_ASSIGN_OR_RETURN(Node * zero, node.AddScalar("zero", norm->type().dtype, 0.0));
  QB_ASSIGN_OR_RETURN(Node * one, node.AddScalar("one", norm->type().dtype, 1.0));
  QB_ASSIGN_OR_RETURN(Node * empty, node.Add("empty", OpKind::kTensorCmp, {norm, zero}));
  QB_ASSIGN_OR_RETURN(norm, node.Add("divisor", OpKind::kWhere, {empty, one, norm}));
  return node.Finish(node.Add("", OpKind::kDiv, {input, norm}));
}

// (x - mean) / (deviation + 1e-9), as the operator's function says.
absl::Status ImportMeanVarianceNormalization(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.IntsAttr("axes"));
  if (axes.empty()) {
    axes = {0, 2, 3};
  }
  ReduceAttrs over;
  QB_ASSIGN_OR_RETURN(over.reduce_axes, SortedAxes(axes, input->shape().rank()));
  QB_ASSIGN_OR_RETURN(Node * mean, node.Add("mean", OpKind::kReduceMean, {input}, over));
  QB_ASSIGN_OR_RETURN(Node * centered, node.Add("centered", OpKind::kSub, {input, mean}));
  QB_ASSIGN_OR_RETURN(Node * squares, Squared(node, "squares", centered));
  QB_ASSIGN_OR_RETURN(Node * variance, node.Add("variance", OpKind::kReduceMean, {squares}, over));
  QB_ASSIGN_OR_RETURN(Node * deviation, node.Add("deviation", OpKind::kSqrt, {variance}));
  QB_ASSIGN_OR_RETURN(Node * small, node.AddScalar("epsilon", input->type().dtype, 1e-9));
  QB_ASSIGN_OR_RETURN(Node * divisor, node.Add("divisor", OpKind::kAdding, {deviation, small}));
  return node.Finish(node.Add("", OpKind::kDiv, {centered, divisor}));
}

}  // namespace qb::onnx_import

// BatchNormalization (inference), Softmax and LogSoftmax.
#include "core/ops/normalization.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/ops/reduce.h"

namespace qb::onnx_import {
namespace {

// Softmax over one axis of `value`; the shape that it works on and the one to return to.
struct SoftmaxPlan {
  Node* value = nullptr;
  int64_t axis = 0;
  bool flattened = false;
};

// Before opset 13 the input is a matrix: dimensions from `axis` on are normalized together. That
// equals the newer form when no dimension after `axis` is wider than 1.
absl::StatusOr<SoftmaxPlan> PlanSoftmax(NodeImporter& node) {
  SoftmaxPlan plan;
  QB_ASSIGN_OR_RETURN(plan.value, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(const int64_t axis, node.IntAttr("axis", node.opset() < 13 ? 1 : -1));
  const Shape& shape = plan.value->shape();
  // The older form allows axis == rank: one value a row.
  const bool one_each = node.opset() < 13 && axis == shape.rank();
  if (!one_each) {
    QB_ASSIGN_OR_RETURN(plan.axis, NormalizeAxis(axis, shape.rank()));
  } else {
    plan.axis = axis;
  }
  if (node.opset() >= 13) {
    return plan;
  }
  const auto product = [&](int64_t from, int64_t to) {
    return std::accumulate(shape.begin() + from, shape.begin() + to, int64_t{1},
                           std::multiplies<>());
  };
  if (!one_each && product(plan.axis + 1, shape.rank()) == 1) {
    return plan;
  }
  const Shape matrix = {product(0, plan.axis), product(plan.axis, shape.rank())};
  QB_ASSIGN_OR_RETURN(plan.value, node.AddReshape("matrix", plan.value, matrix));
  plan.axis = 1;
  plan.flattened = true;
  return plan;
}

absl::Status FinishSoftmax(NodeImporter& node, const SoftmaxPlan& plan, const Shape& shape,
                           absl::StatusOr<Node*> result) {
  QB_RETURN_IF_ERROR(result.status());
  if (!plan.flattened) {
    return node.Finish(*result);
  }
  return node.Finish(node.AddReshape("", *result, shape));
}

}  // namespace

absl::Status ImportBatchNormalization(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  std::vector<Node*> operands = {input};
  for (int64_t i = 1; i < 5; ++i) {
    QB_ASSIGN_OR_RETURN(Node * parameter, node.Input(i, "a parameter"));
    operands.push_back(parameter);
  }
  QB_ASSIGN_OR_RETURN(const bool training, node.BoolAttr("training_mode", false));
  QB_ASSIGN_OR_RETURN(const bool spatial, node.BoolAttr("spatial", true));
  node.IgnoreAttr("momentum");  // for training
  if (training || node.output_count() > 1) {
    return absl::UnimplementedError(
        "the training form (training_mode or more than one output) is not supported; export the "
        "model in evaluation mode");
  }
  if (!spatial) {
    return absl::UnimplementedError("spatial = 0 is not supported");
  }
  BatchnormAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.epsilon, node.FloatAttr("epsilon", 1e-5f));
  return node.Finish(node.Add("", OpKind::kBatchnorm, operands, std::move(attrs)));
}

absl::Status ImportSoftmax(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const Node* input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(const SoftmaxPlan plan, PlanSoftmax(node));
  SoftmaxAttrs attrs;
  attrs.axis = plan.axis;
  return FinishSoftmax(
      node, plan, input->shape(),
      node.Add(plan.flattened ? "softmax" : "", OpKind::kSoftmax, {plan.value}, std::move(attrs)));
}

// x - max - log(sum(exp(x - max))): the logarithm of a softmax would lose small probabilities.
absl::Status ImportLogSoftmax(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const Node* input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(const SoftmaxPlan plan, PlanSoftmax(node));
  ReduceAttrs attrs;
  attrs.reduce_axes = {plan.axis};
  QB_ASSIGN_OR_RETURN(Node * largest, node.Add("max", OpKind::kReduceMax, {plan.value}, attrs));
  QB_ASSIGN_OR_RETURN(Node * shifted, node.Add("shifted", OpKind::kSub, {plan.value, largest}));
  QB_ASSIGN_OR_RETURN(Node * exponentials, node.Add("exp", OpKind::kExp, {shifted}));
  QB_ASSIGN_OR_RETURN(Node * sum, node.Add("sum", OpKind::kReduceSum, {exponentials}, attrs));
  QB_ASSIGN_OR_RETURN(Node * logarithm, node.Add("log", OpKind::kLog, {sum}));
  return FinishSoftmax(
      node, plan, input->shape(),
      node.Add(plan.flattened ? "difference" : "", OpKind::kSub, {shifted, logarithm}));
}

}  // namespace qb::onnx_import

// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, written with Gather and reductions.
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/ops/indexing.h"
#include "core/ops/logic.h"
#include "core/ops/pointwise.h"
#include "core/ops/reduce.h"

namespace qb::onnx_import {
namespace {

struct LossInputs {
  Node* log_probabilities = nullptr;  // [N, C, ...]
  Node* target = nullptr;             // [N, ...]
  Node* weight = nullptr;             // [C]; null: all 1
};

absl::StatusOr<Node*> Reduced(NodeImporter& node, absl::string_view role, OpKind kind,
                              Node* value) {
  if (value->shape().rank() == 0) {
    return value;
  }
  ReduceAttrs all;
  all.keep_dims = false;
  all.reduce_axes.resize(static_cast<size_t>(value->shape().rank()));
  std::iota(all.reduce_axes.begin(), all.reduce_axes.end(), 0);
  return node.Add(role, kind, {value}, std::move(all));
}

// The classes with those that do not count replaced by 0, and where they count (null: everywhere).
struct Targets {
  Node* classes = nullptr;
  Node* counts = nullptr;
};

absl::StatusOr<Targets> ReadTargets(NodeImporter& node, Node* target) {
  Targets targets;
  targets.classes = target;
  if (!node.HasAttr("ignore_index")) {
    return targets;
  }
  QB_ASSIGN_OR_RETURN(const int64_t ignored, node.IntAttr("ignore_index", 0));
  const DType dtype = target->type().dtype;
  QB_ASSIGN_OR_RETURN(Node * number,
                      node.AddScalar("ignored", dtype, static_cast<double>(ignored)));
  QB_ASSIGN_OR_RETURN(Node * zero, node.AddScalar("class_zero", dtype, 0.0));
  TensorCmpAttrs differs;
  differs.kind = CmpKind::kNotEqual;
  QB_ASSIGN_OR_RETURN(targets.counts,
                      node.Add("counts", OpKind::kTensorCmp, {target, number}, std::move(differs)));
  QB_ASSIGN_OR_RETURN(targets.classes,
                      node.Add("classes", OpKind::kWhere, {targets.counts, target, zero}));
  return targets;
}

// The weight of each element: of its class, and 0 where it does not count. Null: all 1.
absl::StatusOr<Node*> ElementWeights(NodeImporter& node, const LossInputs& inputs,
                                     const Targets& targets) {
  const DType dtype = inputs.log_probabilities->type().dtype;
  Node* weights = nullptr;
  if (inputs.weight != nullptr) {
    QB_ASSIGN_OR_RETURN(
        weights, node.Add("class_weights", OpKind::kGather, {inputs.weight, targets.classes}));
  }
  if (targets.counts == nullptr) {
    return weights;
  }
  QB_ASSIGN_OR_RETURN(Node * zero, node.AddScalar("no_weight", dtype, 0.0));
  if (weights == nullptr) {
    QB_ASSIGN_OR_RETURN(weights, node.AddScalar("full_weight", dtype, 1.0));
  }
  return node.Add("weights", OpKind::kWhere, {targets.counts, weights, zero});
}

// -log_probabilities at the target's class, weighted and reduced as the attribute says.
absl::StatusOr<Node*> AddLoss(NodeImporter& node, const LossInputs& inputs) {
  QB_ASSIGN_OR_RETURN(const std::string reduction, node.StringAttr("reduction", "mean"));
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    return absl::InvalidArgumentError(
        absl::StrCat("reduction is '", reduction, "'; mean, sum and none are accepted"));
  }
  QB_ASSIGN_OR_RETURN(const Targets targets, ReadTargets(node, inputs.target));
  const Shape target_shape = inputs.target->shape();
  std::vector<int64_t> dims = target_shape.dims();
  if (dims.empty()) {
    return absl::InvalidArgumentError("the target is a scalar; [N, ...] is accepted");
  }
  dims.insert(dims.begin() + 1, 1);
  QB_ASSIGN_OR_RETURN(Node * places, node.AddReshape("places", targets.classes, Shape(dims)));
  GatherAttrs along_classes;
  along_classes.axis = 1;
  QB_ASSIGN_OR_RETURN(
      Node * chosen, node.Add("chosen", OpKind::kGatherElements, {inputs.log_probabilities, places},
                              std::move(along_classes)));
  QB_ASSIGN_OR_RETURN(chosen, node.AddReshape("likelihood", chosen, target_shape));
  QB_ASSIGN_OR_RETURN(Node * loss, node.Add("loss", OpKind::kNeg, {chosen}));
  QB_ASSIGN_OR_RETURN(Node * weights, ElementWeights(node, inputs, targets));
  if (weights != nullptr) {
    QB_ASSIGN_OR_RETURN(loss, node.Add("weighted", OpKind::kMultiply, {loss, weights}));
  }
  if (reduction == "none") {
    return loss;
  }
  if (reduction == "sum" || weights == nullptr) {
    return Reduced(node, "total", reduction == "sum" ? OpKind::kReduceSum : OpKind::kReduceMean,
                   loss);
  }
  QB_ASSIGN_OR_RETURN(Node * total, Reduced(node, "sum", OpKind::kReduceSum, loss));
  QB_ASSIGN_OR_RETURN(Node * divisor, Reduced(node, "weight", OpKind::kReduceSum, weights));
  return node.Add("total", OpKind::kDiv, {total, divisor});
}

absl::StatusOr<Node*> OptionalWeight(NodeImporter& node) {
  return node.HasInput(2) ? node.Input(2, "weights") : static_cast<Node*>(nullptr);
}

// x - max - log(sum(exp(x - max))) over the classes.
absl::StatusOr<Node*> LogSoftmax(NodeImporter& node, Node* scores) {
  ReduceAttrs classes;
  classes.reduce_axes = {1};
  QB_ASSIGN_OR_RETURN(Node * most, node.Add("max", OpKind::kReduceMax, {scores}, classes));
  QB_ASSIGN_OR_RETURN(Node * shifted, node.Add("shifted", OpKind::kSub, {scores, most}));
  QB_ASSIGN_OR_RETURN(Node * exponentials, node.Add("exp", OpKind::kExp, {shifted}));
  QB_ASSIGN_OR_RETURN(Node * sum, node.Add("exp_sum", OpKind::kReduceSum, {exponentials}, classes));
  QB_ASSIGN_OR_RETURN(Node * logarithm, node.Add("log", OpKind::kLog, {sum}));
  return node.Add("log_probabilities", OpKind::kSub, {shifted, logarithm});
}

}  // namespace

absl::Status ImportNegativeLogLikelihoodLoss(NodeImporter& node) {
  LossInputs inputs;
  QB_ASSIGN_OR_RETURN(inputs.log_probabilities, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(inputs.target, node.Input(1, "target"));
  QB_ASSIGN_OR_RETURN(inputs.weight, OptionalWeight(node));
  return node.Finish(AddLoss(node, inputs));
}

absl::Status ImportSoftmaxCrossEntropyLoss(NodeImporter& node) {
  LossInputs inputs;
  QB_ASSIGN_OR_RETURN(Node * scores, node.Input(0, "scores"));
  QB_ASSIGN_OR_RETURN(inputs.target, node.Input(1, "labels"));
  QB_ASSIGN_OR_RETURN(inputs.weight, OptionalWeight(node));
  if (scores->shape().rank() < 2) {
    return absl::InvalidArgumentError(absl::StrCat("scores have shape ", scores->shape().ToString(),
                                                   "; [N, C, ...] is accepted"));
  }
  QB_ASSIGN_OR_RETURN(inputs.log_probabilities, LogSoftmax(node, scores));
  QB_RETURN_IF_ERROR(node.SetOutput(1, inputs.log_probabilities));
  return node.Finish(AddLoss(node, inputs));
}

}  // namespace qb::onnx_import

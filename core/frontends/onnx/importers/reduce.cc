// All reductions.
#include "core/ops/reduce.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/axes.h"
#include "core/ops/pointwise.h"

namespace qb::onnx_import {
namespace {

// What happens to the elements before the reduction, and to its result.
enum class Before { kNothing, kMagnitude, kSquare };
enum class After { kNothing, kRoot, kLogarithm };

struct ReduceRow {
  absl::string_view op_type;
  OpKind kind;
  Before before = Before::kNothing;
  After after = After::kNothing;
};

constexpr auto kRows = std::to_array<ReduceRow>({
    {"ReduceL1", OpKind::kReduceSum, Before::kMagnitude},
    {"ReduceL2", OpKind::kReduceSum, Before::kSquare, After::kRoot},
    {"ReduceLogSum", OpKind::kReduceSum, Before::kNothing, After::kLogarithm},
    {"ReduceMax", OpKind::kReduceMax},
    {"ReduceMean", OpKind::kReduceMean},
    {"ReduceMin", OpKind::kReduceMin},
    {"ReduceProd", OpKind::kReduceProd},
    {"ReduceSum", OpKind::kReduceSum},
    {"ReduceSumSquare", OpKind::kReduceSum, Before::kSquare},
});

absl::StatusOr<ReduceRow> RowOf(absl::string_view op_type) {
  for (const ReduceRow& row : kRows) {
    if (row.op_type == op_type) {
      return row;
    }
  }
  return absl::InternalError("a reduction without a row");
}

struct ReducePlan {
  Node* input = nullptr;
  ReduceAttrs attrs;  // without axes: nothing is reduced
};

absl::StatusOr<ReducePlan> ReadReduce(NodeImporter& node) {
  ReducePlan plan;
  QB_ASSIGN_OR_RETURN(plan.input, node.Input(0, "data"));
  // The axes became an input in opset 13 for ReduceSum and in 18 for the others.
  const int64_t input_since = node.op_type() == "ReduceSum" ? 13 : 18;
  QB_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> axes, node.AxesOf(1, input_since));
  QB_ASSIGN_OR_RETURN(plan.attrs.keep_dims, node.BoolAttr("keepdims", true));
  bool noop_without_axes = false;
  if (node.opset() >= input_since) {
    QB_ASSIGN_OR_RETURN(noop_without_axes, node.BoolAttr("noop_with_empty_axes", false));
  }
  const int64_t rank = plan.input->shape().rank();
  QB_ASSIGN_OR_RETURN(plan.attrs.reduce_axes,
                      SortedAxes(axes.value_or(std::vector<int64_t>()), rank));
  if (plan.attrs.reduce_axes.empty() && !noop_without_axes) {
    plan.attrs.reduce_axes.resize(static_cast<size_t>(rank));
    std::iota(plan.attrs.reduce_axes.begin(), plan.attrs.reduce_axes.end(), 0);
  }
  return plan;
}

absl::StatusOr<Node*> AddReduction(NodeImporter& node, absl::string_view role, OpKind kind,
                                   Node* value, const ReduceAttrs& attrs) {
  if (attrs.reduce_axes.empty()) {
    return value;
  }
  return node.Add(role, kind, {value}, attrs);
}
absl::StatusOr<Node*> Finished(NodeImporter& node, Node* value, After after) {
  if (after == After::kNothing) {
    return value;
  }
  const OpKind kind = after == After::kRoot ? OpKind::kSqrt : OpKind::kLog;
  const DType dtype = value->type().dtype;
  if (IsFloat(dtype)) {
    return node.Add("", kind, {value});
  }
  QB_ASSIGN_OR_RETURN(value, node.AddCast("wide", value, DType::kFloat64));
  QB_ASSIGN_OR_RETURN(value, node.Add("wide_result", kind, {value}));
  return node.AddCast("", value, dtype);
}

}  // namespace

absl::Status ImportReduce(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const ReduceRow row, RowOf(node.op_type()));
  QB_ASSIGN_OR_RETURN(const ReducePlan plan, ReadReduce(node));
  Node* value = plan.input;
  const bool truth = value->type().dtype == DType::kBool;  // the largest is "any", the least "all"
  if (truth) {
    QB_ASSIGN_OR_RETURN(value, node.AddCast("numbers", value, DType::kInt32));
  }
  if (row.before == Before::kMagnitude) {
    QB_ASSIGN_OR_RETURN(value, node.Add("magnitudes", OpKind::kAbs, {value}));
  } else if (row.before == Before::kSquare) {
    QB_ASSIGN_OR_RETURN(value, node.Add("squares", OpKind::kMultiply, {value, value}));
  }
  const bool last = row.after == After::kNothing && !truth;
  QB_ASSIGN_OR_RETURN(value,
                      AddReduction(node, last ? "" : "reduced", row.kind, value, plan.attrs));
  if (truth) {
    ClipAttrs bounds;  // of nothing, the largest is false and the least true
    bounds.clip_min_value = 0.0f;
    bounds.clip_max_value = 1.0f;
    QB_ASSIGN_OR_RETURN(value, node.Add("bounded", OpKind::kClip, {value}, std::move(bounds)));
    return node.Finish(node.AddCast("", value, DType::kBool));
  }
  return node.Finish(Finished(node, value, row.after));
}

// max + log(sum(exp(x - max))): exponentials of large numbers do not overflow.
absl::Status ImportReduceLogSumExp(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const ReducePlan plan, ReadReduce(node));
  if (plan.attrs.reduce_axes.empty()) {
    return node.Finish(plan.input);
  }
  ReduceAttrs keeping = plan.attrs;
  keeping.keep_dims = true;
  QB_ASSIGN_OR_RETURN(Node * largest, node.Add("max", OpKind::kReduceMax, {plan.input}, keeping));
  // With an infinite maximum the difference would be no number.
  ClipAttrs finite;
  QB_ASSIGN_OR_RETURN(largest, node.Add("finite", OpKind::kClip, {largest}, std::move(finite)));
  QB_ASSIGN_OR_RETURN(Node * shifted, node.Add("shifted", OpKind::kSub, {plan.input, largest}));
  QB_ASSIGN_OR_RETURN(Node * exponentials, node.Add("exp", OpKind::kExp, {shifted}));
  QB_ASSIGN_OR_RETURN(Node * sum, node.Add("sum", OpKind::kReduceSum, {exponentials}, keeping));
  QB_ASSIGN_OR_RETURN(Node * logarithm, node.Add("log", OpKind::kLog, {sum}));
  const bool keeps = plan.attrs.keep_dims;
  QB_ASSIGN_OR_RETURN(Node * result,
                      node.Add(keeps ? "" : "kept", OpKind::kAdding, {logarithm, largest}));
  if (keeps) {
    return node.Finish(result);
  }
  std::vector<int64_t> dims;
  for (int64_t axis = 0; axis < plan.input->shape().rank(); ++axis) {
    if (!std::binary_search(keeping.reduce_axes.begin(), keeping.reduce_axes.end(), axis)) {
      dims.push_back(plan.input->shape()[axis]);
    }
  }
  return node.Finish(node.AddReshape("", result, Shape(std::move(dims))));
}

}  // namespace qb::onnx_import

// If, Loop, Scan: the graph has no control flow, so bodies are imported in its place. A loop needs
// a number of steps that is known at import and is written out; of an If whose condition is known
// the branch that is taken is imported, else both, and a Where chooses between their results.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/onnx_model.h"
#include "core/frontends/onnx/scalar_values.h"
#include "core/ops/movement.h"

namespace qb::onnx_import {
namespace {

absl::Status SetOutputs(NodeImporter& node, const std::vector<Node*>& values) {
  for (int64_t i = 0; i < node.output_slots(); ++i) {
    if (i >= static_cast<int64_t>(values.size())) {
      return absl::InvalidArgumentError(absl::StrCat("the node has ", node.output_slots(),
                                                     " outputs, its body gives ", values.size()));
    }
    QB_RETURN_IF_ERROR(node.SetOutput(i, values[static_cast<size_t>(i)]));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> TruthOf(const Node* value, absl::string_view what) {
  if (value->type().dtype != DType::kBool || value->shape().elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", value->type().ToString(), "; one truth value is accepted"));
  }
  if (!value->is_constant()) {
    return absl::UnimplementedError(
        absl::StrCat(what, " depends on an input of the model; a constant is supported"));
  }
  return IntegersOf(value->constant()).front() != 0;
}

// Results of both branches, chosen when the graph runs.
absl::Status ImportBothBranches(NodeImporter& node, Node* condition, const OnnxGraph& then_branch,
                                const OnnxGraph& else_branch) {
  QB_ASSIGN_OR_RETURN(const std::vector<Node*> yes, node.ImportBody(then_branch, {}));
  QB_ASSIGN_OR_RETURN(const std::vector<Node*> no, node.ImportBody(else_branch, {}));
  if (yes.size() != no.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the branches give ", yes.size(), " and ", no.size(), " results"));
  }
  QB_ASSIGN_OR_RETURN(Node * scalar, node.AddReshape("condition", condition, {}));
  std::vector<Node*> chosen;
  for (size_t i = 0; i < yes.size(); ++i) {
    if (yes[i]->type() != no[i]->type()) {
      return absl::UnimplementedError(
          absl::StrCat("the condition depends on an input of the model and the branches give ",
                       yes[i]->type().ToString(), " and ", no[i]->type().ToString(),
                       "; equal types are supported"));
    }
    QB_ASSIGN_OR_RETURN(Node * value, node.Add(i == 0 ? "" : absl::StrCat("choice_", i),
                                               OpKind::kWhere, {scalar, yes[i], no[i]}));
    chosen.push_back(value);
  }
  return SetOutputs(node, chosen);
}
Shape WithoutAxis(const Shape& shape, int64_t axis) {
  std::vector<int64_t> dims = shape.dims();
  dims.erase(dims.begin() + axis);
  return Shape(std::move(dims));
}

// The values of all steps along a new axis.
absl::StatusOr<Node*> Stacked(NodeImporter& node, const std::string& role,
                              const std::vector<Node*>& steps, int64_t axis) {
  if (steps.empty()) {
    return absl::UnimplementedError("a loop without steps has no results of its steps");
  }
  std::vector<Node*> parts;
  const int64_t rank = steps.front()->shape().rank() + 1;
  QB_ASSIGN_OR_RETURN(const int64_t front, NormalizeAxis(axis, rank));
  for (size_t i = 0; i < steps.size(); ++i) {
    std::vector<int64_t> dims = steps[i]->shape().dims();
    dims.insert(dims.begin() + front, 1);
    QB_ASSIGN_OR_RETURN(
        Node * part, node.AddReshape(absl::StrCat(role, "_", i), steps[i], Shape(std::move(dims))));
    parts.push_back(part);
  }
  ConcatenateAttrs attrs;
  attrs.axis = front;
  return node.Add(role, OpKind::kConcatenate, parts, std::move(attrs));
}

constexpr int64_t kMostSteps = 4096;

absl::StatusOr<int64_t> TripCount(NodeImporter& node) {
  if (!node.HasInput(0)) {
    return kMostSteps;
  }
  QB_ASSIGN_OR_RETURN(const int64_t count, node.IntInput(0, "M"));
  return std::max<int64_t>(count, 0);
}

// What a Loop or Scan carries from step to step, and what its steps give.
struct LoopState {
  std::vector<Node*> carried;
  std::vector<std::vector<Node*>> per_step;  // [result][step]
};

}  // namespace

absl::Status ImportIf(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * condition, node.Input(0, "cond"));
  QB_ASSIGN_OR_RETURN(const OnnxGraph* then_branch, node.BodyAttr("then_branch"));
  QB_ASSIGN_OR_RETURN(const OnnxGraph* else_branch, node.BodyAttr("else_branch"));
  if (condition->type().dtype != DType::kBool || condition->shape().elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the condition is ", condition->type().ToString(), "; one truth value is accepted"));
  }
  if (!condition->is_constant()) {
    return ImportBothBranches(node, condition, *then_branch, *else_branch);
  }
  QB_ASSIGN_OR_RETURN(const bool taken, TruthOf(condition, "the condition"));
  QB_ASSIGN_OR_RETURN(const std::vector<Node*> values,
                      node.ImportBody(taken ? *then_branch : *else_branch, {}));
  return SetOutputs(node, values);
}

// Body: (step, condition, carried...) -> (condition, carried..., results of the step...).
absl::Status ImportLoop(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const OnnxGraph* body, node.BodyAttr("body"));
  QB_ASSIGN_OR_RETURN(const int64_t count, TripCount(node));
  bool running = true;
  if (node.HasInput(1)) {
    QB_ASSIGN_OR_RETURN(const Node* condition, node.Input(1, "cond"));
    QB_ASSIGN_OR_RETURN(running, TruthOf(condition, "the condition"));
  }
  LoopState state;
  for (int64_t i = 2; i < node.input_count(); ++i) {
    QB_ASSIGN_OR_RETURN(Node * value, node.Input(i, "v_initial"));
    state.carried.push_back(value);
  }
  const size_t carried = state.carried.size();
  if (body->inputs.size() != carried + 2 || body->outputs.size() < carried + 1) {
    return absl::InvalidArgumentError(absl::StrCat("the body has ", body->inputs.size(),
                                                   " inputs and ", body->outputs.size(),
                                                   " outputs for ", carried, " carried values"));
  }
  state.per_step.resize(body->outputs.size() - carried - 1);
  for (int64_t step = 0; running && step < count; ++step) {
    if (step == kMostSteps) {
      return absl::UnimplementedError(
          absl::StrCat("the loop has more than ", kMostSteps, " steps"));
    }
    QB_ASSIGN_OR_RETURN(Node * number, node.AddScalar(absl::StrCat("step_", step), DType::kInt64,
                                                      static_cast<double>(step)));
    QB_ASSIGN_OR_RETURN(Node * yes, node.AddScalar(absl::StrCat("go_", step), DType::kBool, 1.0));
    std::vector<Node*> inputs = {number, yes};
    inputs.insert(inputs.end(), state.carried.begin(), state.carried.end());
    QB_ASSIGN_OR_RETURN(const std::vector<Node*> outputs, node.ImportBody(*body, inputs));
    state.carried.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<int64_t>(carried));
    for (size_t r = 0; r < state.per_step.size(); ++r) {
      state.per_step[r].push_back(outputs[1 + carried + r]);
    }
    QB_ASSIGN_OR_RETURN(running, TruthOf(outputs.front(), "the condition of the loop"));
  }
  std::vector<Node*> results = state.carried;
  for (size_t r = 0; r < state.per_step.size(); ++r) {
    QB_ASSIGN_OR_RETURN(Node * stacked,
                        Stacked(node, absl::StrCat("steps_", r), state.per_step[r], 0));
    results.push_back(stacked);
  }
  return SetOutputs(node, results);
}

namespace {

struct ScanForm {
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
  int64_t steps = 0;
};

absl::StatusOr<std::vector<int64_t>> ListOr(NodeImporter& node, absl::string_view name,
                                            size_t count) {
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> values, node.IntsAttr(name));
  if (values.empty()) {
    values.assign(count, 0);
  }
  if (values.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' has ", values.size(),
                                                   " elements; ", count, " are accepted"));
  }
  return values;
}

absl::StatusOr<ScanForm> ReadScan(NodeImporter& node, const std::vector<Node*>& scanned,
                                  size_t results) {
  ScanForm form;
  QB_ASSIGN_OR_RETURN(form.input_axes, ListOr(node, "scan_input_axes", scanned.size()));
  QB_ASSIGN_OR_RETURN(form.input_directions, ListOr(node, "scan_input_directions", scanned.size()));
  QB_ASSIGN_OR_RETURN(form.output_axes, ListOr(node, "scan_output_axes", results));
  QB_ASSIGN_OR_RETURN(form.output_directions, ListOr(node, "scan_output_directions", results));
  for (size_t i = 0; i < scanned.size(); ++i) {
    const Shape& shape = scanned[i]->shape();
    QB_ASSIGN_OR_RETURN(form.input_axes[i], NormalizeAxis(form.input_axes[i], shape.rank()));
    const int64_t steps = shape[form.input_axes[i]];
    if (i > 0 && steps != form.steps) {
      return absl::InvalidArgumentError(
          absl::StrCat("scanned inputs have ", form.steps, " and ", steps, " steps"));
    }
    form.steps = steps;
  }
  if (form.steps > kMostSteps) {
    return absl::UnimplementedError(absl::StrCat("the scan has more than ", kMostSteps, " steps"));
  }
  return form;
}

}  // namespace

// Body: (carried..., slices of the scanned inputs...) -> (carried..., results of the step...).
absl::Status ImportScan(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const OnnxGraph* body, node.BodyAttr("body"));
  QB_ASSIGN_OR_RETURN(const int64_t scanned_count, node.RequiredIntAttr("num_scan_inputs"));
  const int64_t carried_count = node.input_count() - scanned_count;
  if (scanned_count < 1 || carried_count < 0 ||
      static_cast<int64_t>(body->outputs.size()) < carried_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_scan_inputs is ", scanned_count, " of ", node.input_count(), " inputs"));
  }
  LoopState state;
  std::vector<Node*> scanned;
  for (int64_t i = 0; i < node.input_count(); ++i) {
    QB_ASSIGN_OR_RETURN(Node * value, node.Input(i, "an input"));
    (i < carried_count ? state.carried : scanned).push_back(value);
  }
  state.per_step.resize(body->outputs.size() - static_cast<size_t>(carried_count));
  QB_ASSIGN_OR_RETURN(const ScanForm form, ReadScan(node, scanned, state.per_step.size()));
  for (int64_t step = 0; step < form.steps; ++step) {
    std::vector<Node*> inputs = state.carried;
    for (size_t i = 0; i < scanned.size(); ++i) {
      const int64_t axis = form.input_axes[i];
      const int64_t at = form.input_directions[i] == 0 ? step : form.steps - 1 - step;
      const std::string role = absl::StrCat("slice_", i, "_", step);
      QB_ASSIGN_OR_RETURN(Node * slice, node.AddSlice(role, scanned[i], axis, {at, at + 1}));
      QB_ASSIGN_OR_RETURN(slice, node.AddReshape(absl::StrCat(role, "_flat"), slice,
                                                 WithoutAxis(slice->shape(), axis)));
      inputs.push_back(slice);
    }
    QB_ASSIGN_OR_RETURN(const std::vector<Node*> outputs, node.ImportBody(*body, inputs));
    state.carried.assign(outputs.begin(), outputs.begin() + carried_count);
    for (size_t r = 0; r < state.per_step.size(); ++r) {
      state.per_step[r].push_back(outputs[static_cast<size_t>(carried_count) + r]);
    }
  }
  std::vector<Node*> results = state.carried;
  for (size_t r = 0; r < state.per_step.size(); ++r) {
    if (form.output_directions[r] != 0) {
      std::reverse(state.per_step[r].begin(), state.per_step[r].end());
    }
    QB_ASSIGN_OR_RETURN(Node * stacked, Stacked(node, absl::StrCat("steps_", r), state.per_step[r],
                                                form.output_axes[r]));
    results.push_back(stacked);
  }
  return SetOutputs(node, results);
}

}  // namespace qb::onnx_import

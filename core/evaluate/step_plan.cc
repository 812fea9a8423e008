#include "core/evaluate/step_plan.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/evaluate/codes.h"

namespace qb {

using integer::Network;
using integer::TensorInfo;

absl::StatusOr<StepPlan> StepPlan::Create(const Graph& graph, const Network& network) {
  StepPlan plan(network);
  QB_RETURN_IF_ERROR(plan.FindBorder(graph));
  plan.FindByName(graph);
  for (Step& step : plan.steps_) {
    QB_RETURN_IF_ERROR(plan.CheckShape(step));
    plan.FindLayers(step);
  }
  return plan;
}

StepPlan::StepPlan(const Network& network)
    : network_(&network),
      value_(network.tensors.size(), false),
      producers_(network.tensors.size(), -1) {
  for (size_t i = 0; i < network.layers.size(); ++i) {
    producers_[static_cast<size_t>(network.layers[i].output)] = static_cast<int64_t>(i);
  }
}

void StepPlan::Add(const Node* node, int tensor) {
  if (!value_[static_cast<size_t>(tensor)]) {
    value_[static_cast<size_t>(tensor)] = true;
    steps_.push_back({node, tensor, {}});
  }
}

// The codes of an input: those that Quantize makes, or of a uint8 input those that the last of the
// layers behind makes of its bytes (uint8_input.h). Where axes are turned in between, the turned
// value is a step of its own.
void StepPlan::AddInput(const Node* node, int input, int quantized) {
  if (network_->tensors[static_cast<size_t>(input)].dtype != DType::kUint8) {
    Add(node, quantized);
    return;
  }
  int bytes = quantized;
  for (const integer::Layer& layer : network_->layers) {
    if (layer.inputs[0] != bytes) {
      continue;
    }
    if (layer.name == absl::StrCat(node->name(), "/shrink") ||
        layer.name == absl::StrCat(node->name(), "/pad")) {
      bytes = layer.output;
    } else if (std::holds_alternative<integer::RequantParams>(layer.params) ||
               std::holds_alternative<integer::ConvParams>(layer.params)) {
      Add(node, layer.output);
    }
  }
}

// Inputs and outputs have names of their own there.
absl::Status StepPlan::FindBorder(const Graph& graph) {
  if (graph.inputs().size() != network_->inputs.size() ||
      graph.outputs().size() != network_->outputs.size()) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("the executable has ", network_->inputs.size(), " inputs and ",
                                network_->outputs.size(), " outputs, the model ",
                                graph.inputs().size(), " and ", graph.outputs().size()));
  }
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const int input = network_->inputs[i];
    if (HoldsCodes(network_->tensors[static_cast<size_t>(input)])) {
      Add(graph.inputs()[i], input);
      continue;
    }
    for (const integer::Layer& layer : network_->layers) {
      if (std::holds_alternative<integer::QuantizeParams>(layer.params) &&
          layer.inputs[0] == input) {
        AddInput(graph.inputs()[i], input, layer.output);
      }
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const int output = network_->outputs[i];
    if (HoldsCodes(network_->tensors[static_cast<size_t>(output)])) {
      Add(graph.outputs()[i]->operand(0), output);
    }
  }
  return absl::OkStatus();
}

void StepPlan::FindByName(const Graph& graph) {
  absl::flat_hash_map<std::string, const Node*> nodes;
  for (const Node* node : graph.TopologicalOrder()) {
    if (!node->is_constant() && node->op() != OpKind::kOutput) {
      nodes[node->name()] = node;
    }
  }
  for (const integer::Layer& layer : network_->layers) {
    const TensorInfo& info = network_->tensors[static_cast<size_t>(layer.output)];
    const auto found = nodes.find(info.name);
    if (found != nodes.end() && HoldsCodes(info)) {
      Add(found->second, layer.output);
    }
  }
}

absl::Status StepPlan::CheckShape(const Step& step) const {
  const TensorInfo& info = network_->tensors[static_cast<size_t>(step.tensor)];
  if (info.shape.elements() != step.node->shape().elements() ||
      step.node->type().dtype != DType::kFloat32) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("layer '", step.node->name(), "' is ", step.node->type().ToString(),
                                " in the model and ", info.shape.ToString(),
                                " in the executable; it was made from "
                                "another model"));
  }
  return absl::OkStatus();
}

// Everything between the step's tensor and tensors that are values themselves.
void StepPlan::FindLayers(Step& step) const {
  std::vector<int> open = {step.tensor};
  while (!open.empty()) {
    const int64_t producer = producers_[static_cast<size_t>(open.back())];
    open.pop_back();
    if (producer < 0) {
      continue;
    }
    const size_t layer = static_cast<size_t>(producer);
    if (std::find(step.layers.begin(), step.layers.end(), layer) != step.layers.end()) {
      continue;
    }
    step.layers.push_back(layer);
    for (const int input : network_->layers[layer].inputs) {
      if (!is_value(input)) {
        open.push_back(input);
      }
    }
  }
  std::sort(step.layers.begin(), step.layers.end());
}

}  // namespace qb

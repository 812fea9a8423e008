// How the layers of a quantized network make the values of the float model it was made from.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/integer/network.h"
#include "core/ir/graph.h"

namespace qb {

// A float value that is a tensor of the network, and the layers that make it out of other such
// values.
struct Step {
  const Node* node = nullptr;
  int tensor = -1;
  std::vector<size_t> layers;  // in execution order
};

// The steps of a network, by float node. `graph` and `network` outlive the object.
class StepPlan {
 public:
  // Errors: ARGUMENT_ERROR when the network was not made from this graph.
  static absl::StatusOr<StepPlan> Create(const Graph& graph, const integer::Network& network);

  const std::vector<Step>& steps() const { return steps_; }
  // Whether a float value is known for the tensor.
  bool is_value(int tensor) const { return value_[static_cast<size_t>(tensor)]; }

 private:
  explicit StepPlan(const integer::Network& network);

  void Add(const Node* node, int tensor);
  void AddInput(const Node* node, int input, int quantized);
  absl::Status FindBorder(const Graph& graph);
  void FindByName(const Graph& graph);
  absl::Status CheckShape(const Step& step) const;
  void FindLayers(Step& step) const;

  const integer::Network* network_;
  std::vector<bool> value_;         // by tensor
  std::vector<int64_t> producers_;  // by tensor: the layer, or -1
  std::vector<Step> steps_;
};

}  // namespace qb

// Convolution and MatMul seen alike: a linear function with constant weights and a bias.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/ir/graph.h"
#include "core/ops/activation.h"

namespace qb {

// A float32 convolution, or a product of a tensor with a constant matrix, without activation;
// weights and bias are constant. Holds copies of the numbers that a rewrite changes, and only of
// those.
class LinearWeights {
 public:
  // Empty when `node` is no such operator.
  static std::optional<LinearWeights> Of(Node* node);

  int64_t input_channels() const { return groups_ * group_inputs_; }
  int64_t output_channels() const { return outputs_; }
  // The axis of the channels in the operand and in the result.
  int64_t channel_axis() const { return channel_axis_; }
  // True for a convolution that pads: its border pixels do not see a shift of the input.
  bool has_padding() const { return has_padding_; }

  // One factor or addend per channel.
  void ScaleOutputs(absl::Span<const float> scale);
  void ShiftOutputs(absl::Span<const float> shift);
  void ScaleInputs(absl::Span<const float> scale);
  // Precondition: !has_padding().
  void ShiftInputs(absl::Span<const float> shift);

  // False when a number became infinite or lost its meaning: then the rewrite must not happen.
  bool IsFinite() const;

  // Adds the operator with the new numbers, the operand `input` and `activation`. It bears `name`,
  // made unique; the old one stays. Weights that did not change are shared with it.
  absl::StatusOr<Node*> Rebuild(Graph& graph, Node* input, const Activation& activation,
                                absl::string_view name) const;

 private:
  LinearWeights() = default;
  // Index of the weight between a result channel and the position `inner` of its window: for a
  // convolution row-major [M, inner], for a product [K, N].
  int64_t IndexOf(int64_t output, int64_t inner) const {
    return is_product_ ? inner * outputs_ + output : output * inner_ + inner;
  }
  // The input channel of a position of the window of `output`.
  int64_t InputOf(int64_t output, int64_t inner) const;

  Node* node_ = nullptr;
  bool is_product_ = false;
  bool channel_last_ = false;
  bool has_padding_ = false;
  int64_t channel_axis_ = 1;
  int64_t groups_ = 1;
  int64_t group_inputs_ = 0;
  int64_t outputs_ = 0;
  int64_t inner_ = 0;   // weights of one result channel
  int64_t window_ = 1;  // pixels of the window
  // A copy of the weights, made by the first change. Null before.
  float* MutableWeights();

  Tensor weights_;
  bool owns_weights_ = false;
  std::vector<double> bias_;
};

}  // namespace qb

// LSTM, GRU, RNN over whole sequences.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/ops/op_def.h"

namespace qb {

enum class Direction { kForward, kReverse, kBidirectional };

template <>
struct EnumNames<Direction> {
  static constexpr auto kNames = std::to_array<std::pair<Direction, const char*>>({
      {Direction::kForward, "forward"},
      {Direction::kReverse, "reverse"},
      {Direction::kBidirectional, "bidirectional"},
  });
};

// Operands: x [S, N, I], W [D, G H, I], R [D, G H, H], B [D, 2 G H], initial h [D, N, H], for LSTM
// also initial c [D, N, H] and peepholes P [D, 3 H], then lengths [N] (optional: all S). D is 2 for
// kBidirectional, else 1; G is 4, 3 or 1 gates in the order of ONNX (iofc, zrh).
//
// Result, one tensor for all that the operator computes: [S + K, D, N, H] with the outputs of all
// steps, then the last h and, for LSTM (K = 2), the last c.
//
// `activations`: names of ONNX for each direction's functions, joined by commas
// ("Sigmoid,Tanh,Tanh"); alphas and betas one for each of them. clip 0: none. linear_before_reset
// counts for GRU, input_forget for LSTM.
struct RecurrentAttrs final : AttributesOf<RecurrentAttrs> {
  static constexpr int64_t kInput = 0, kW = 1, kR = 2, kB = 3, kInitialH = 4, kInitialC = 5,
                           kPeepholes = 6;
  Direction direction = Direction::kForward;
  int64_t hidden_size = 1;
  std::string activations;
  std::vector<float> activation_alpha, activation_beta;
  float clip = 0.0f;
  bool linear_before_reset = false;
  bool input_forget = false;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("direction", self.direction);
    visit("hidden_size", self.hidden_size);
    visit("activations", self.activations);
    visit("activation_alpha", self.activation_alpha);
    visit("activation_beta", self.activation_beta);
    visit("clip", self.clip);
    visit("linear_before_reset", self.linear_before_reset);
    visit("input_forget", self.input_forget);
  }
};

// Gates, functions a direction, and states of an operator.
struct RecurrentForm {
  int64_t gates;
  int64_t functions;
  int64_t states;
};
RecurrentForm FormOf(OpKind kind);

// The functions of RecurrentAttrs::activations. Source: ONNX LSTM.
enum class CellFunction {
  kRelu,
  kTanh,
  kSigmoid,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus,
};

// Errors: InvalidArgument for an unknown name.
absl::StatusOr<std::vector<CellFunction>> ParseCellFunctions(absl::string_view activations);

absl::StatusOr<TensorType> InferLstm(const InferenceInput& input);
absl::StatusOr<TensorType> InferGru(const InferenceInput& input);
absl::StatusOr<TensorType> InferRnn(const InferenceInput& input);

}  // namespace qb

// Weights, bias and requantization of one linear layer.
#pragma once

#include "absl/status/statusor.h"

#include "core/integer/network.h"
#include "core/quantization/linear_form.h"
#include "core/quantization/plan.h"

namespace qb {

// int8 weights per output channel, symmetric in [-127, 127]; bias int32 at input scale x weight
// scale; multipliers input scale x weight scale / output scale; clamps of the activation.
//
// A channel without weights (all zero, or too small for a float32 scale) gets zero weights and a
// scale at which its bias keeps 1/256 of an output step. A channel whose accumulator could leave
// int32, mostly by a bias that is large for its weights, gets a larger scale: the proof of
// integer::CheckAccumulatorBound holds for every channel of the result.
//
// Errors: MODEL_PARSE_ERROR naming the layer when a weight or bias is NaN or infinite.
absl::StatusOr<integer::ConvParams> QuantizeLinear(const Node& node, const LinearForm& form,
                                                   const ValueScale& input,
                                                   const ValueScale& output);

// The codes that an activation leaves: [-128, 127] without one.
struct CodeRange {
  int32_t low = -128, high = 127;
};
CodeRange CodesOf(const Activation& activation, const ValueScale& scale);

// Rounded half to even. Precondition: |x| < 2^62.
int64_t RoundHalfEven(double x);

// The requantization for a real multiplier > 0. Multipliers of 2^29 and above, where every code but
// zero saturates, count as 2^29.
integer::Requant RequantFor(double multiplier);

}  // namespace qb

// Weights, bias and requantization of one linear layer.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/integer/network.h"
#include "core/quantization/linear_form.h"
#include "core/quantization/plan.h"

namespace qb {

// What a linear layer reads and writes, and how wide its weights are.
struct LinearPrecision {
  ValueScale input, output;
  int weight_bits = 8;  // 4, 8, 16
};

// Weights per output channel, symmetric in [-7, 7], [-127, 127] or [-32639, 32639]; bias at input
// scale x weight scale, int64 where integer::IsWide, else int32; multipliers input scale x weight
// scale / output scale; clamps of the activation.
//
// The weight scale is that of the largest magnitude; with 4 bits the one from half of that up at
// which the squared error of the channel's weights is least. A channel without weights (all zero,
// or too small for a float32 scale) gets zero weights and a scale at which its bias keeps 1/256 of
// an output step. A channel whose accumulator could leave int32 (62 bits where IsWide), mostly by a
// bias that is large for its weights, gets a larger scale: the proof of
// integer::CheckAccumulatorBound holds for every channel of the result.
//
// Errors: MODEL_PARSE_ERROR naming the layer when a weight or bias is NaN or infinite.
absl::StatusOr<integer::ConvParams> QuantizeLinear(const Node& node, const LinearForm& form,
                                                   const LinearPrecision& precision);

// Other codes for one output channel of weights of 4 or 8 bits.
struct ChannelCodes {
  absl::Span<const int8_t> codes;
  float scale = 1.0f;
  float bias = 0.0f;  // real
};
// Puts them into `channel`; bias and multiplier follow the scale. False, and nothing changes, when
// the accumulator could leave its type. `input` and `output` are the layer's tensors. Distinct
// channels may be replaced at the same time.
bool ReplaceChannel(integer::ConvParams& conv, int64_t channel, const ChannelCodes& wanted,
                    const integer::TensorInfo& input, const integer::TensorInfo& output);

// Moves the bias of `channel` by `shift` steps of its accumulator, rounded, as far as its type
// goes. False, and nothing changes, when the accumulator could leave its type. `input`: what the
// layer reads.
bool ShiftBias(integer::ConvParams& conv, int64_t channel, double shift,
               const integer::TensorInfo& input);

// The codes that an activation leaves; without one all: [-128, 127] or [-32767, 32767].
struct CodeRange {
  int32_t low = -128, high = 127;
};
CodeRange CodesOf(const Activation& activation, const ValueScale& scale);

// The code of a real number, saturated; of NaN that of zero.
int32_t CodeOf(double real, const ValueScale& scale);

// Rounded half to even. Precondition: |x| < 2^62.
int64_t RoundHalfEven(double x);

// The requantization for a real multiplier > 0. Multipliers of 2^29 and above, where every code but
// zero saturates, count as 2^29.
integer::Requant RequantFor(double multiplier);

}  // namespace qb

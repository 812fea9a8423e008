// What Convolution and TransposeConvolution ask of their operands: input, weights and bias.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "core/ops/op_def.h"
#include "core/ops/window.h"

namespace qb {

struct ConvolutionOperands {
  ImageAxes axes;
  int64_t h_kernel = 1, w_kernel = 1;
  int64_t groups = 1;
};

// Operands 0 input, 1 weights [M, C / groups, Kh, Kw] (in the order of `axes`), 2 bias [M], which
// may be missing. Errors: InvalidArgument for ranks, types, channels or windows that do not fit.
absl::Status CheckConvolutionOperands(const InferenceInput& input,
                                      const ConvolutionOperands& expected);

}  // namespace qb

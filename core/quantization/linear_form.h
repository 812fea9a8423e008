// One shape for everything that multiplies a varying value by constant weights: convolutions, plain
// and transposed,
// matrix products with a constant right side, and batch normalizations that stand alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/calibration/window_sums.h"
#include "core/ir/node.h"
#include "core/ops/activation.h"

namespace qb {

// y[m] = bias[m] + sum over ky, kx, c of weights[m, ky, kx, c] * x, then the activation.
struct LinearForm {
  const Node* input = nullptr;
  // [M, Kh, Kw, C / groups]; a view of the graph's constant where its order is already this one.
  Tensor weights;
  std::vector<float> bias;  // [M]
  int64_t groups = 1;
  int64_t pad_bottom = 0, pad_right = 0;
  // A transposed convolution: `window` says how input pixels spread, and rows and columns follow
  // that no tap reaches.
  bool transposed = false;
  int64_t out_pad_bottom = 0, out_pad_right = 0;
  // Of the input as the convolution sees it; a matrix product has one column and rows = M of [M,
  // K].
  WindowGeometry window;
  Activation activation;

  int64_t channels_out() const { return static_cast<int64_t>(bias.size()); }
  int64_t products() const { return channels_out() == 0 ? 0 : weights.elements() / channels_out(); }
};

// True for the operators that LinearFormOf accepts, by kind and constant operands.
bool IsLinear(const Node& node);

// Errors: UNSUPPORTED_OPERATOR naming the layer: weights that are not constant or not float32, a
// layout other than channels last, a batch above 1.
absl::StatusOr<LinearForm> LinearFormOf(const Node& node);

// The mean of y before the activation over all output positions, per output channel, from the mean
// that each tap meets (WindowSums divided by the positions). Precondition: not transposed.
std::vector<double> MeanBeforeActivation(const LinearForm& form,
                                         const std::vector<double>& tap_means);

}  // namespace qb

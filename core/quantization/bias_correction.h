// Bias correction: rounding weights and activations shifts the mean of a layer's result; the shift
// is measured on calibration samples and taken out of the integer bias.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/progress.h"
#include "core/calibration/calibrate.h"
#include "core/dataset/dataset.h"
#include "core/quantization/lowering.h"

namespace qb {

struct BiasCorrectionOptions {
  // Layers by exact name or glob (* and ?); empty apply_layers: all.
  std::vector<std::string> apply_layers, exclude_layers;
  int threads = 1;
};

// What calibration found, and the dataset that it saw.
struct CorrectionInput {
  const CalibrationTable& table;
  const Dataset& dataset;
};

// Changes the bias of every linear layer of `lowered` that the options select, in execution order:
// each layer sees inputs that the corrected layers before it computed. Returns the largest shift of
// a layer's bias, in the layer's real units, by node id.
//
// bias[m] += mean over samples and positions of (float result - integer result) before the
// activation. The float mean follows from the weights and `input.table.windows`; the integer mean
// from the sums under each tap of the integer input. So the cost is one integer inference of
// input.table.window_samples, however many layers there are. Memory: their live activations.
//
// Bit-exact for any number of threads and any order of samples (all sums are of integers).
// Errors: those of Dataset::Load; Cancelled.
absl::StatusOr<std::map<int64_t, double>> CorrectBiases(LoweredNetwork& lowered,
                                                        const CorrectionInput& input,
                                                        const BiasCorrectionOptions& options,
                                                        ProgressSink& sink,
                                                        const CancelToken& cancel);

}  // namespace qb

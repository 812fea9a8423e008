// What each rounding costs on its own: one value or one layer's weights quantized, all else float.
#pragma once

#include <map>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/progress.h"
#include "core/dataset/dataset.h"
#include "core/integer/network.h"
#include "core/quantization/plan.h"

namespace qb {

struct SensitivityInput {
  const QuantizationPlan& plan;
  const integer::Network& network;  // quantized by that plan
  const CalibrationTable& table;    // with tap means where biases are corrected
  const Dataset& dataset;
};

struct SensitivityOptions {
  int64_t samples = 8;  // the first ones of the data set
  int threads = 1;
  // Adds the share of rows whose class changes to the share of noise.
  bool classes = false;
};

// The loss of a rounding: noise / signal of the model's outputs, summed over outputs; with
// `classes` the share of rows whose arg-max changes besides.
struct Sensitivities {
  std::map<int64_t, double> values;   // by node id of a value with a scale of its own
  std::map<int64_t, double> weights;  // by node id of a layer with weights
};

// One float run a sample, and for each rounding the rest of it behind the rounded value. A shift of
// the mean by rounded weights is no loss where the table has tap means: bias correction takes it
// away. Values and weights of 16 bits have no entry. The result does not depend on the number of
// threads.
//
// Errors: those of the samples and of CreateCpuExecutor; Cancelled.
absl::StatusOr<Sensitivities> MeasureSensitivities(const SensitivityInput& input,
                                                   const SensitivityOptions& options,
                                                   ProgressSink& sink, const CancelToken& cancel);

}  // namespace qb

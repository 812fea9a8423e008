// Quantization as the compiler calls it: plan, calibrate, lower, correct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/progress.h"
#include "core/calibration/calibrate.h"
#include "core/calibration/statistics_file.h"
#include "core/dataset/dataset.h"
#include "core/integer/network.h"
#include "core/ir/graph.h"
#include "core/quantization/plan.h"
#include "core/quantization/scale_training.h"
#include "core/quantization/weight_refinement.h"

namespace qb {

// Statistics from and for other compiles. Both may be null; what they point to outlives the call.
struct StatisticsReuse {
  const KeptStatistics* loaded = nullptr;  // taken instead of a pass over the samples
  KeptStatistics* saved = nullptr;         // gets what was measured and corrected
};

struct QuantizationOptions {
  QuantizationMethod method = QuantizationMethod::kSharedScales;
  OutputSteps outputs = OutputSteps::kOneScale;
  LayerOverrides overrides;
  CalibrationOptions calibration;
  struct {
    bool apply = true;
    // Exact names or globs; empty apply_layers: every layer with weights.
    std::vector<std::string> apply_layers, exclude_layers;
    // Samples whose means are compared. Fewer are taken when their int8 activations would need more
    // than most_bytes.
    int64_t samples = 32;
    int64_t most_bytes = int64_t{128} << 20;
  } bias_correction;
  WeightRefinementOptions refinement;  // its threads are those of calibration
  ScaleTrainingOptions training;       // likewise
  StatisticsReuse statistics;
};

// One tensor and the layer that makes it, for the report.
struct LayerReport {
  std::string name;
  std::string op;  // as in the text form of graphs; "Lookup" for a pointwise closure
  int activation_bits = 8;
  int weight_bits = 0;  // 0: no weights
  float scale = 1.0f;
  int32_t zero_point = 0;
  double threshold = 0.0;
  double largest_seen = 0.0;
  double saturation_share = 0.0;
  float smallest_weight_scale = 0.0f, largest_weight_scale = 0.0f;
  double largest_bias_shift = 0.0;  // real units
  // Squared error of the result with refined weights as a share of that without; 1: not refined.
  double refined_error_share = 1.0;
  // Loss of the result with trained scales and biases as a share of that without; 1: not trained.
  double trained_loss_share = 1.0;
  std::string note;  // a setting for this layer that could not take effect, and why; mostly empty
};

struct QuantizedModel {
  integer::Network network;
  std::vector<LayerReport> layers;  // in execution order
  int64_t calibration_samples = 0;
  int64_t bias_correction_samples = 0;
};

// Quantizes `graph`, the NPU part of a model: float, channels last, as core/passes leaves it.
// Stages "calibrate", "quantize", "refine", "correct" and "train" are told to `sink`. The result is
// a function of the graph, the options (without threads) and the set of samples; with
// statistics.loaded it is the same without a look at the samples, but for weights to be refined and
// for a bias correction that nobody has kept.
//
// Errors: UNSUPPORTED_OPERATOR naming the layer; CALIBRATION_DATA_ERROR; MODEL_PARSE_ERROR for
// weights that are not finite; ARGUMENT_ERROR for a layer name of bias correction that matches
// nothing, or for statistics.loaded of other settings; those of ResolveLayerOverrides; Cancelled.
absl::StatusOr<QuantizedModel> Quantize(const Graph& graph, const Dataset& dataset,
                                        const QuantizationOptions& options, ProgressSink& sink,
                                        const CancelToken& cancel);

// The two halves of Quantize. The table serves any overrides of bits: statistics are those of the
// float graph. Errors of both: as above.
absl::StatusOr<CalibrationTable> CalibrateFor(const Graph& graph, const Dataset& dataset,
                                              const QuantizationOptions& options,
                                              ProgressSink& sink, const CancelToken& cancel);

struct CalibratedGraph {
  const Graph& graph;
  const CalibrationTable& table;
  const Dataset& dataset;  // that the table was made from
};
absl::StatusOr<QuantizedModel> QuantizeCalibrated(const CalibratedGraph& calibrated,
                                                  const QuantizationOptions& options,
                                                  ProgressSink& sink, const CancelToken& cancel);

}  // namespace qb

// Mixed precision by search: raises what loses most, until the model is as close to the float one
// as asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/cancel_token.h"
#include "core/base/json.h"
#include "core/base/progress.h"
#include "core/dataset/dataset.h"
#include "core/ir/graph.h"
#include "core/quantization/quantize.h"
#include "core/target/target_spec.h"

namespace qb {

enum class TuneMetric { kSqnr, kCosine, kTop1Agreement };
// "sqnr", "cosine", "top1Agreement": as the config spells them.
absl::string_view TuneMetricName(TuneMetric metric);

struct AutoTuneOptions {
  TuneMetric metric = TuneMetric::kTop1Agreement;
  double target = 0.99;  // dB of kSqnr, else a share; of the worst output
  // Of all tensors (values and weights), at most this share ends at a raised width.
  double most_share = 0.1;
  int64_t judged_samples = 64;      // held back from calibration, at most
  int64_t sensitivity_samples = 8;  // of those
  // Whether a step may name an input: not where the graph is a part whose inputs are other layers.
  bool name_inputs = true;
};

// One step up, in the order in which they were taken.
struct TuneChoice {
  std::string layer;
  bool weights = false;  // its weights; else what it reads and writes
  int bits = 16;
  double gain = 0.0;         // the loss that sensitivity puts down to what is raised
  int64_t added_cycles = 0;  // estimated, one core
  int64_t added_tensors = 0;
};

struct TuneResult {
  TuneMetric metric = TuneMetric::kTop1Agreement;  // that was used
  double before = 0.0, after = 0.0, target = 0.0;
  bool reached = false;
  int64_t tensors = 0, raised = 0;
  int64_t cycles_before = 0, cycles_after = 0;
  std::vector<TuneChoice> choices;
  LayerOverrides overrides;  // those given with the choices added, as exact names

  Json ToJson() const;
  // A table for people, several lines.
  std::string ToText() const;
};

// Everything outlives the call.
struct AutoTuneInput {
  const Graph& graph;  // as Quantize takes it
  const Dataset& dataset;
  const TargetSpec& target;
  const QuantizationOptions& quantization;
};

// Quantizes with what `quantization` says on three quarters of the samples and judges on the
// others. While the target is missed, the step with the most gain for its cost (cycles and tensors,
// both as shares of the whole) is taken; after every third step the real network is quantized and
// judged again. Of the last three only as many are kept as the target needs. When the target cannot
// be reached, the best network seen is kept. Layers that the overrides name themselves stay as they
// are. An equal set of samples gives equal choices, whatever its order and the number of threads.
//
// A metric that no output has (agreement without a class axis) is replaced by the cosine, with a
// warning. Errors: those of Quantize; TARGET_ERROR for a layer that does not fit the target;
// Cancelled.
absl::StatusOr<TuneResult> AutoTune(const AutoTuneInput& input, const AutoTuneOptions& options,
                                    ProgressSink& sink, const CancelToken& cancel);

}  // namespace qb

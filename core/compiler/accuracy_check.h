// The check at the end of a compile: the finished program on the simulator against the float graph.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/json.h"
#include "core/compiler/phases.h"
#include "core/dataset/dataset.h"
#include "core/dataset/folded_inputs.h"
#include "core/dataset/labels.h"
#include "core/ir/graph.h"
#include "core/package/mxq_stages.h"
namespace qb {

// Calibration samples that the check uses when there is no evaluation data.
inline constexpr int64_t kCheckSamples = 8;

struct AccuracyCheckInput {
  const MxqSize* executable = nullptr;
  std::string core_mode;
  const Dataset* dataset = nullptr;  // of samples as the executable takes them
  const FoldedInputs* folded = nullptr;
  const Labels* labels = nullptr;  // null: none
  int64_t max_samples = 0;         // 0: all
  int threads = 1;
  std::string description;  // "on calibration data"
};

// {data, samples, outputs[...], ...} as Evaluation::ToJson. Errors: those of Evaluate and of the
// two models.
absl::StatusOr<Json> CheckAccuracy(const Graph& graph, const AccuracyCheckInput& input,
                                   Phases& phases);

}  // namespace qb

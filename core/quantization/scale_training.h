// Training of scales and biases with the float model as teacher: what the section `mod` asks for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/progress.h"
#include "core/quantization/channel_fit.h"
#include "core/quantization/lowering.h"
#include "core/quantization/weight_refinement.h"

namespace qb {

struct ScaleTrainingOptions {
  bool apply = false;
  std::vector<std::string> layers;  // exact names or globs; empty: every layer with weights
  FitOptions fit;
  // Samples that are trained on, at most; fewer where their codes would need more than most_bytes.
  int64_t samples = 32;
  int64_t most_bytes = int64_t{128} << 20;
  int threads = 1;
};

// Goes through the network once in execution order, with everything before a layer trained already.
// A layer's result (behind the lookup table, where that alone reads it) is fitted to the float
// model's by one scale and one bias a channel (channel_fit.h); they go into its multipliers and
// integer biases. A layer keeps what it had unless its loss on the samples falls with them, codes
// rounded. No channel's accumulator can leave its type afterwards. Transposed convolutions are left
// alone.
//
// The result depends on the set of samples, not on their order, nor on threads. By node id: the
// loss of a trained layer as a share of that before. Errors: ARGUMENT_ERROR for a name that matches
// no layer with weights; those of the samples and of CreateCpuExecutor; Cancelled.
absl::StatusOr<std::map<int64_t, double>> TrainScales(LoweredNetwork& lowered,
                                                      const RefinementInput& input,
                                                      const ScaleTrainingOptions& options,
                                                      ProgressSink& sink,
                                                      const CancelToken& cancel);

}  // namespace qb

// Layer by layer: what each one costs on its own, and how far the values have drifted by then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/json.h"
#include "core/base/progress.h"
#include "core/dataset/dataset.h"
#include "core/integer/network.h"
#include "core/ir/graph.h"
#include "core/quantization/uint8_input.h"

namespace qb {

struct LayerEvaluationOptions {
  int threads = 1;
  int64_t max_samples = 0;        // 0: all
  std::vector<Uint8Input> bytes;  // what the bytes of uint8 inputs stand for
};

// One layer of the float graph that is a tensor of the network. Figures are pooled over all
// samples, as those of outputs are.
struct LayerMetrics {
  std::string name;
  std::string op;
  int activation_bits = 8;
  // Only this layer quantized: its operands are the float model's values as codes, its result is
  // compared with the float model's.
  double sqnr_db = 0;
  double cosine = 0;
  // Everything before it quantized too: the value as the executable has it.
  double entire_sqnr_db = 0;
  double entire_cosine = 0;
  double saturation_share = 0;  // of the float values, beyond the ends of the codes

  Json ToJson() const;
};

// `graph` is the float model that `network` was made from: tensors have the names of its nodes.
// Layers in execution order; those inside of a fused layer or a lookup table have no value and are
// left out. A sample costs one float and about two integer inferences, in memory the codes of all
// its values. The result does not depend on the number of threads.
//
// Errors: ARGUMENT_ERROR when the network is not of this model; CALIBRATION_DATA_ERROR of a sample;
// those of CreateCpuExecutor; CANCELLED.
absl::StatusOr<std::vector<LayerMetrics>> EvaluateLayers(
    const Graph& graph, const integer::Network& network, const Dataset& dataset,
    const LayerEvaluationOptions& options, ProgressSink& sink, const CancelToken& cancel);

}  // namespace qb

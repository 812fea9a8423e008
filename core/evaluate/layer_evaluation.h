// Layer by layer: what each one costs on its own, and how far the values have drifted by then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/json.h"
#include "core/base/progress.h"
#include "core/dataset/dataset.h"
#include "core/dataset/folded_inputs.h"
#include "core/evaluate/layer_sums.h"
#include "core/integer/network.h"
#include "core/ir/graph.h"
#include "core/quantization/uint8_input.h"

namespace qb {

struct LayerEvaluationOptions {
  int threads = 1;
  int64_t max_samples = 0;               // 0: all
  std::vector<Uint8Input> bytes;         // what the bytes of uint8 inputs stand for
  const FoldedInputs* folded = nullptr;  // null: samples are the model's inputs
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
  double rounding_db = 0;       // SQNR of the float values as codes of this layer: its step alone
  double saturation_share = 0;  // of the float values, beyond the ends of the codes
  double clipping_share = 0;    // of the error of those codes: what saturated values make of it
  // Codes that no float value takes, of all; none where there are 16 bits.
  std::optional<double> dead_code_share;
  // The entropy of those codes: how many of the bits the values use; none where there are 16.
  std::optional<double> effective_bits;
  double bias_share = 0;  // of the energy of the entire error: the mean error of each channel
  HistogramRange code_range{0, 0};       // the reals of the least and the most code
  HistogramRange histogram_range{0, 0};  // twice as wide
  std::vector<int64_t> histogram;        // of the float values; the outer bins have all beyond

  // Filled in by AddLayerFacts (culprits.h).
  int weight_bits = 0;      // 0: no weights, or not known
  std::string only_8_bits;  // why its activations cannot have 16; empty: they can

  Json ToJson() const;
};

// A float model and the network that was made from it, whose tensors have the names of its nodes;
// valid during a call.
struct LayerPair {
  const Graph& graph;
  const integer::Network& network;
};

// Layers in execution order; those inside of a fused layer or a lookup table have no value and are
// left out. A sample costs one float and about two integer inferences, in memory the codes of all
// its values. The result does not depend on the number of threads.
//
// Errors: ARGUMENT_ERROR when the network is not of this model; CALIBRATION_DATA_ERROR of a sample;
// those of CreateCpuExecutor; CANCELLED.
absl::StatusOr<std::vector<LayerMetrics>> EvaluateLayers(const LayerPair& models,
                                                         const Dataset& dataset,
                                                         const LayerEvaluationOptions& options,
                                                         ProgressSink& sink,
                                                         const CancelToken& cancel);

}  // namespace qb

// Weights chosen for what they do to the layer's result on samples, not for how near they are to
// the float ones: a searched scale, or second-order rounding.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/progress.h"
#include "core/dataset/dataset.h"
#include "core/quantization/hessian/column_solver.h"
#include "core/quantization/lowering.h"

namespace qb {

struct WeightRefinementOptions {
  // Second-order rounding of all layers with weights of 4 or 8 bits.
  bool hessian = false;
  ColumnSolverOptions solver;
  bool half_moments = false;  // second moments are stored as bfloat16 instead of float32
  // Of layers that these names and globs match the scale of each channel is searched: that with the
  // least squared error of the layer's result, codes rounded to the nearest. Not where `hessian`
  // holds, which searches as well.
  std::vector<std::string> scale_layers;
  // Samples whose inputs the layers are judged on, at most; fewer where their codes would need more
  // than most_bytes.
  int64_t samples = 128;
  int64_t most_bytes = int64_t{192} << 20;
  int threads = 1;

  bool apply() const { return hessian || !scale_layers.empty(); }
};

// What was done to one layer: its squared error on the samples with the refined weights as a share
// of that with the weights that lowering gave it.
struct RefinedLayer {
  double error_share = 1.0;
  std::string note;  // why it kept its weights; empty when it did not
};

struct RefinementInput {
  const QuantizationPlan& plan;
  const Dataset& dataset;
};

// Goes through the network once in execution order: the second moments of a layer's input are those
// of the quantized model with everything before it refined. They are integer sums, so they depend
// neither on threads nor on the order of samples. Biases and multipliers follow the scales. A
// channel whose accumulator could leave its type, and one without weights, stay as they are.
//
// Memory: codes of the live tensors for the samples, moments of one layer (8 taps^2 bytes, a few
// times), and for the asymmetric solvers 256 MiB of float inputs. Layers with more than 4608 taps
// and transposed convolutions stay as they are, with a note.
//
// By node id. Errors: those of the samples and of CreateCpuExecutor; Cancelled.
absl::StatusOr<std::map<int64_t, RefinedLayer>> RefineWeights(
    LoweredNetwork& lowered, const RefinementInput& input, const WeightRefinementOptions& options,
    ProgressSink& sink, const CancelToken& cancel);

}  // namespace qb

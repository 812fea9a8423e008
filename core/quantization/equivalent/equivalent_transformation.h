// Channels of values made alike in size by numbers that cancel out: the float model stays what it
// is, and one scale a tensor fits its channels better.
//
// Xiao et al., "SmoothQuant", 2023 (the exponent); Meller et al., "Same, same but different", 2019
// (numbers passed through linear layers).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/dataset/dataset.h"
#include "core/ir/graph.h"

namespace qb {

struct EquivalentOptions {
  bool norm_conv = false;  // a normalization and the linear layers that read it
  bool qk = false;         // the query and the key of an attention
  bool ud = false;         // the linear path into a linear layer: up and down projection
  bool vo = false;         // the value and the output projection of an attention
  int64_t samples = 32;    // whose channels are measured, at most
  int threads = 1;

  bool apply() const { return norm_conv || qk || ud || vo; }
};

// What was done, for the log.
struct Transformed {
  std::string kind;   // "NormConv", ...
  std::string layer;  // the value whose channels changed
  // Estimated noise of rounding it and the weights that read it, as a share of that before.
  double noise_share = 1.0;
};

// Changes constants of `graph` (channels last, as core/passes leaves it) and nothing else: names,
// nodes and shapes stay. Of several strengths each place takes the one with the least estimated
// noise, which may be none. Results of the float model change by rounding alone. The same for any
// order of samples and number of threads.
//
// Errors: those of the samples and of CreateCpuExecutor; Cancelled.
absl::StatusOr<std::vector<Transformed>> ApplyEquivalentTransformation(
    Graph& graph, const Dataset& dataset, const EquivalentOptions& options,
    const CancelToken& cancel);

}  // namespace qb

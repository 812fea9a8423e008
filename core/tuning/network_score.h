// How close an integer network comes to its float graph on a set of samples.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/cancel_token.h"
#include "core/dataset/dataset.h"
#include "core/evaluate/metrics.h"
#include "core/integer/network.h"
#include "core/ir/graph.h"

namespace qb {

// Of the worst output each.
struct NetworkScore {
  double sqnr_db = 200.0;
  double cosine = 1.0;
  double agreement = 1.0;  // of outputs with a class axis
  bool has_classes = false;
};

// Sums of one output over samples, as figures. `sums`: by output.
NetworkScore ScoreOf(const std::vector<OutputSums>& sums);
void AddSums(const OutputSums& of_sample, OutputSums& total);

// Keeps the float results of the samples, so that each further network costs its own runs only.
// Thread-compatible.
class NetworkJudge {
 public:
  // `graph` and `dataset` outlive the judge. Errors: those of CreateCpuExecutor and of the samples.
  static absl::StatusOr<std::unique_ptr<NetworkJudge>> Create(const Graph& graph,
                                                              const Dataset& dataset, int threads,
                                                              const CancelToken& cancel);

  // `network`: quantized from the graph, with its float border. The result does not depend on the
  // number of threads. Errors: InvalidArgument for a network that is not valid; those of the
  // samples.
  absl::StatusOr<NetworkScore> Judge(const integer::Network& network,
                                     const CancelToken& cancel) const;

 private:
  NetworkJudge(const Dataset& dataset, int threads) : dataset_(dataset), threads_(threads) {}

  const Dataset& dataset_;
  const int threads_;
  std::vector<std::vector<Tensor>> expected_;  // by sample, output
};

}  // namespace qb

// How large each channel of some values is, over samples.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/cancel_token.h"
#include "core/dataset/dataset.h"
#include "core/ir/graph.h"

namespace qb {

// By channel: the last axis.
struct ChannelStatistics {
  std::vector<double> largest;  // magnitude
  std::vector<double> mean_square;
};

struct ChannelSampling {
  int64_t most_samples = 0;
  int threads = 1;
};

// By node id, over at most `most_samples` samples chosen by content; the same for any order and
// number of threads. `values`: float32 values of `graph` of rank 1 and above. Errors: those of the
// samples and of CreateCpuExecutor; Cancelled.
absl::StatusOr<std::map<int64_t, ChannelStatistics>> MeasureChannels(
    const Graph& graph, absl::Span<const Node* const> values, const Dataset& dataset,
    const ChannelSampling& sampling, const CancelToken& cancel);

}  // namespace qb

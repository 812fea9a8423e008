// What the float model gives the layers of a network as inputs, in units of the network's codes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/thread_pool.h"
#include "core/dataset/dataset.h"
#include "core/execute/executor.h"
#include "core/integer/network.h"
#include "core/ir/graph.h"

namespace qb {

// A value that some layer reads, in the order of execution.
struct WantedInput {
  const Node* value = nullptr;
  float scale = 1.0f;      // of the codes that the layer reads
  int64_t resolution = 1;  // steps of the result a code
};

// Float runs as many as the memory needs: each keeps the values of the next layers in line, as many
// as fit into `most_bytes`, for all samples. One thread.
class FloatInputs {
 public:
  // Everything outlives the object; `samples` are indices into the data set. Errors of Create:
  // those of CreateCpuExecutor.
  static absl::StatusOr<std::unique_ptr<FloatInputs>> Create(const Graph& graph,
                                                             const Dataset& dataset,
                                                             std::vector<int64_t> samples,
                                                             std::vector<WantedInput> wanted,
                                                             int64_t most_bytes);

  // Wanted input number `index` of every sample: round(x / scale * resolution), saturated; those
  // before it are let go. Ask in increasing order. Errors: those of the samples; Cancelled.
  absl::StatusOr<const std::vector<std::vector<int16_t>>*> Get(size_t index, ThreadPool& pool,
                                                               const CancelToken& cancel);

 private:
  FloatInputs(const Dataset& dataset, std::vector<int64_t> samples, std::vector<WantedInput> wanted,
              int64_t most_bytes);
  absl::Status Fetch(size_t first, ThreadPool& pool, const CancelToken& cancel);
  absl::Status RunSample(size_t sample, size_t first, size_t end, FloatExecutor::Context& context);

  const Dataset& dataset_;
  const std::vector<int64_t> samples_;
  const std::vector<WantedInput> wanted_;
  const int64_t most_bytes_;
  std::unique_ptr<FloatExecutor> executor_;
  std::map<size_t, std::vector<std::vector<int16_t>>> held_;  // by index, sample
};

}  // namespace qb

// An integer network run layer by layer over many samples at once, so that a layer may change
// before the next one sees its results: bias correction and second-order rounding work this way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"

#include "core/base/cancel_token.h"
#include "core/base/thread_pool.h"
#include "core/dataset/dataset.h"
#include "core/integer/network.h"
#include "core/integer/scratch.h"

namespace qb {

// The codes of all samples, layer by layer; a tensor's memory goes with its last use. One thread;
// work on the samples is spread over a pool of its own.
class LayerwiseRun {
 public:
  // `network`, `dataset` and `cancel` outlive the run; `samples` are indices into the data set.
  LayerwiseRun(const integer::Network& network, const Dataset& dataset,
               std::vector<int64_t> samples, int threads, const CancelToken& cancel);

  int64_t samples() const { return static_cast<int64_t>(samples_.size()); }
  ThreadPool& pool() { return pool_; }

  // The layers that make codes of the model's inputs, sample by sample: float inputs of one sample
  // a thread are alive. Call it first. Errors: those of the samples; Cancelled.
  absl::Status QuantizeInputs();
  // Runs a layer on all samples, as it is now. Precondition: those before it were run.
  absl::Status RunLayer(size_t layer);
  // Frees the inputs that no later layer reads.
  void ReleaseAfter(size_t layer);
  // The codes that a layer reads, between the layer before it and ReleaseAfter.
  const void* Input(size_t layer, int64_t sample) const {
    return Get(network_.layers[layer].inputs[0], sample);
  }

  // The codes that a layer wrote, between RunLayer and the ReleaseAfter of their last reader.
  const void* Output(size_t layer, int64_t sample) const {
    return Get(network_.layers[layer].output, sample);
  }

  // Calls body(sample, worker) for all samples, in parallel. Returns the first error.
  absl::Status ForEachSample(const std::function<absl::Status(int64_t sample, int worker)>& body);

 private:
  void Allocate(int tensor);
  void* Mutable(int tensor, int64_t sample) {
    return buffers_[static_cast<size_t>(tensor)][static_cast<size_t>(sample)].get();
  }
  const void* Get(int tensor, int64_t sample) const;
  absl::Status QuantizeSample(const std::vector<size_t>& layers, int64_t sample, int worker);

  const integer::Network& network_;
  const Dataset& dataset_;
  const std::vector<int64_t> samples_;
  const CancelToken& cancel_;
  ThreadPool pool_;
  std::vector<integer::Scratch> scratch_;                         // by worker
  std::vector<std::vector<std::unique_ptr<uint8_t[]>>> buffers_;  // by tensor, sample
  std::vector<size_t> last_use_;                                  // by tensor
  std::vector<const uint8_t*> constants_;                         // by tensor; null: no constant
};

}  // namespace qb

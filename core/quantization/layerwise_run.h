// An integer network run layer by layer over many samples at once, so that a layer may change
// before the next one sees its results: bias correction and second-order rounding work this way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/thread_pool.h"
#include "core/dataset/dataset.h"
#include "core/integer/network.h"
#include "core/integer/run_layer.h"
#include "core/integer/scratch.h"
#include "core/quantization/sample_codes.h"

namespace qb {

// The codes of all samples, layer by layer; a tensor's codes go with its last use. One thread;
// work on the samples is spread over a pool of its own.
class LayerwiseRun {
 public:
  struct Options {
    int threads = 1;
    // So many samples' codes stay in memory, those of the others in a file.
    int64_t in_memory = 8;
  };
  // `network`, `dataset` and `cancel` outlive the run; `samples` are indices into the data set.
  LayerwiseRun(const integer::Network& network, const Dataset& dataset,
               std::vector<int64_t> samples, const Options& options, const CancelToken& cancel);

  int64_t samples() const { return static_cast<int64_t>(samples_.size()); }
  ThreadPool& pool() { return pool_; }

  // The layers that make codes of the model's inputs, sample by sample: float inputs of one sample
  // a thread are alive. Call it first. Errors: those of the samples; Cancelled.
  absl::Status QuantizeInputs();
  // Runs a layer on all samples, as it is now. Precondition: those before it were run.
  absl::Status RunLayer(size_t layer);
  // Frees the inputs that no later layer reads.
  void ReleaseAfter(size_t layer);
  // The codes that a layer reads, between the layer before it and ReleaseAfter. `worker`: of
  // ForEachSample; a sample that is not in memory is valid until the worker's next call.
  absl::StatusOr<const void*> Input(size_t layer, int64_t sample, int worker) {
    return Get(network_.layers[layer].inputs[0], sample, FirstBuffer(worker));
  }

  // The codes that a layer wrote, between RunLayer and the ReleaseAfter of their last reader.
  absl::StatusOr<const void*> Output(size_t layer, int64_t sample, int worker) {
    return Get(network_.layers[layer].output, sample, FirstBuffer(worker));
  }

  // Calls body(sample, worker) for all samples, in parallel. Returns the first error.
  absl::Status ForEachSample(const std::function<absl::Status(int64_t sample, int worker)>& body);

 private:
  // What one thread works with.
  struct Worker {
    integer::Scratch scratch;
    std::vector<SampleCodes::Buffer> inputs;  // by operand
    SampleCodes::Buffer output;
  };

  SampleCodes::Buffer& FirstBuffer(int worker) {
    return workers_[static_cast<size_t>(worker)].inputs[0];
  }
  absl::Status Allocate(int tensor);
  absl::StatusOr<const void*> Get(int tensor, int64_t sample, SampleCodes::Buffer& buffer) const;
  absl::Status QuantizeSample(const std::vector<size_t>& layers, int64_t sample, int worker);
  absl::Status RunSample(const integer::LayerKernel& kernel, const integer::Layer& layer,
                         int64_t sample, int worker);

  const integer::Network& network_;
  const Dataset& dataset_;
  const std::vector<int64_t> samples_;
  const int64_t in_memory_;
  const CancelToken& cancel_;
  ThreadPool pool_;
  std::vector<Worker> workers_;
  std::vector<std::unique_ptr<SampleCodes>> codes_;  // by tensor
  std::vector<size_t> last_use_;                     // by tensor
  std::vector<const uint8_t*> constants_;            // by tensor; null: no constant
};

}  // namespace qb

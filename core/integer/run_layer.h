// Executing the layers of an integer network: one layer, or a whole network for tests, bias
// correction and evaluation. The NPU simulator (core/npu) uses the same kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/integer/kernel_level.h"
#include "core/integer/network.h"
#include "core/integer/scratch.h"

namespace qb::integer {

struct PackedConv;
struct PackedTranspose;

// A layer made ready to run many times (weights packed for this processor). Immutable, thread-safe.
class LayerKernel {
 public:
  // `layer` and `network` outlive the kernel and do not change.
  // Errors: InvalidArgument as ValidateLayer.
  static absl::StatusOr<LayerKernel> Create(const Layer& layer, const Network& network,
                                            KernelLevel level = BestKernelLevel());
  LayerKernel(LayerKernel&&) noexcept;
  LayerKernel& operator=(LayerKernel&&) noexcept;
  ~LayerKernel();

  // inputs[i] holds tensor layer.inputs[i], output the layer's output. The output may be the memory
  // of an input where MayRunInPlace says so; otherwise they do not overlap.
  void Run(absl::Span<const void* const> inputs, void* output, Scratch& scratch) const;

  // Rows [begin, end) of the result of a convolution, from the whole input into the whole output.
  // Precondition: the layer is a convolution with as many rows.
  void RunRows(absl::Span<const void* const> inputs, void* output, int64_t begin, int64_t end,
               Scratch& scratch) const;

  const Layer& layer() const { return *layer_; }

 private:
  LayerKernel() = default;

  const Layer* layer_ = nullptr;
  const Network* network_ = nullptr;
  KernelLevel level_ = KernelLevel::kReference;
  std::unique_ptr<const PackedConv> conv_;
  std::unique_ptr<const PackedTranspose> transpose_;
};

// True when the layer's output may take the memory of its input number `input`: the kernel reads an
// element before it writes the element of the same place, and both tensors have as many bytes.
bool MayRunInPlace(const Layer& layer, const Network& network, int input);

// Runs one layer once (weights are packed on the way: use LayerKernel to run it again).
// Errors: InvalidArgument as ValidateLayer, or for another number of inputs.
absl::Status RunLayer(const Layer& layer, const Network& network,
                      absl::Span<const void* const> inputs, void* output, Scratch& scratch);

// Runs networks layer by layer, each tensor in memory of its own until its last use. Thread-safe.
class NetworkRunner {
 public:
  // Called after layer `index` with its output, before that memory is used again.
  using Observer = std::function<void(int64_t index, const void* output)>;

  // `network` outlives the runner. Errors: InvalidArgument as ValidateNetwork.
  static absl::StatusOr<NetworkRunner> Create(const Network& network,
                                              KernelLevel level = BestKernelLevel());

  // inputs[i] holds tensor network.inputs[i]; outputs[i] receives tensor network.outputs[i].
  // Errors: InvalidArgument for another number of inputs or outputs.
  absl::Status Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                   const Observer& observer = {}) const;

 private:
  explicit NetworkRunner(const Network* network) : network_(network) {}

  const Network* network_;
  std::vector<LayerKernel> kernels_;
  std::vector<int64_t> last_use_;  // by tensor: the last layer that reads it; layers.size() = output
};

// The same for one run.
absl::Status RunNetwork(const Network& network, absl::Span<const void* const> inputs,
                        absl::Span<void* const> outputs);

// Sums over all output pixels of the accumulators of a convolution (with bias, before requant), per
// output channel: what an empirical bias correction compares with the float model. Costs one pass
// over the input, not a convolution. Precondition: the layer is valid and a convolution.
std::vector<int64_t> ConvAccumulatorSums(const Layer& layer, const Network& network,
                                         const void* input);
// For each tap and input channel [Kh, Kw, C]: the sum of (x - zero point) over the pixels that this
// tap meets, padding as zero. ConvAccumulatorSums is bias and weights applied to it.
std::vector<int64_t> ConvTapSums(const Layer& layer, const Network& network, const void* input);

}  // namespace qb::integer

#include "core/quantization/layerwise_run.h"

#include <algorithm>
#include <utility>

#include "absl/synchronization/mutex.h"

#include "core/base/status_macros.h"
#include "core/integer/run_layer.h"

namespace qb {
namespace {

bool IsInputQuantization(const integer::Layer& layer) {
  return std::holds_alternative<integer::QuantizeParams>(layer.params);
}

}  // namespace

LayerwiseRun::LayerwiseRun(const integer::Network& network, const Dataset& dataset,
                           std::vector<int64_t> samples, int threads, const CancelToken& cancel)
    : network_(network),
      dataset_(dataset),
      samples_(std::move(samples)),
      cancel_(cancel),
      pool_(threads),
      scratch_(static_cast<size_t>(threads)),
      buffers_(network.tensors.size()),
      last_use_(network.tensors.size(), 0),
      constants_(network.tensors.size(), nullptr) {
  for (size_t layer = 0; layer < network.layers.size(); ++layer) {
    for (const int input : network.layers[layer].inputs) {
      last_use_[static_cast<size_t>(input)] = layer;
    }
  }
  for (const integer::ConstantTensor& constant : network.constants) {
    constants_[static_cast<size_t>(constant.tensor)] = constant.bytes.data();
  }
}

void LayerwiseRun::Allocate(int tensor) {
  const size_t bytes =
      static_cast<size_t>(network_.tensors[static_cast<size_t>(tensor)].size_bytes());
  auto& samples = buffers_[static_cast<size_t>(tensor)];
  samples.resize(samples_.size());
  for (auto& sample : samples) {
    // Not zeroed: the layer writes every byte.
    sample = std::unique_ptr<uint8_t[]>(new uint8_t[bytes]);
  }
}

const void* LayerwiseRun::Get(int tensor, int64_t sample) const {
  const uint8_t* constant = constants_[static_cast<size_t>(tensor)];
  if (constant != nullptr) {
    return constant;
  }
  return buffers_[static_cast<size_t>(tensor)][static_cast<size_t>(sample)].get();
}

void LayerwiseRun::ReleaseAfter(size_t layer) {
  for (const int input : network_.layers[layer].inputs) {
    if (last_use_[static_cast<size_t>(input)] == layer) {
      buffers_[static_cast<size_t>(input)].clear();
      buffers_[static_cast<size_t>(input)].shrink_to_fit();
    }
  }
}

absl::Status LayerwiseRun::QuantizeInputs() {
  std::vector<size_t> layers;
  for (size_t i = 0; i < network_.layers.size(); ++i) {
    if (IsInputQuantization(network_.layers[i])) {
      layers.push_back(i);
      Allocate(network_.layers[i].output);
    }
  }
  return ForEachSample(
      [&](int64_t sample, int worker) { return QuantizeSample(layers, sample, worker); });
}

absl::Status LayerwiseRun::QuantizeSample(const std::vector<size_t>& layers, int64_t sample,
                                          int worker) {
  QB_RETURN_IF_ERROR(cancel_.Check());
  QB_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                      dataset_.Load(samples_[static_cast<size_t>(sample)]));
  for (const size_t index : layers) {
    const integer::Layer& layer = network_.layers[index];
    const auto input = std::find(network_.inputs.begin(), network_.inputs.end(), layer.inputs[0]);
    const void* real = inputs[static_cast<size_t>(input - network_.inputs.begin())].raw();
    QB_RETURN_IF_ERROR(integer::RunLayer(layer, network_, {&real, 1}, Mutable(layer.output, sample),
                                         scratch_[static_cast<size_t>(worker)]));
  }
  return absl::OkStatus();
}

absl::Status LayerwiseRun::RunLayer(size_t index) {
  const integer::Layer& layer = network_.layers[index];
  if (IsInputQuantization(layer)) {
    return absl::OkStatus();
  }
  Allocate(layer.output);
  absl::StatusOr<integer::LayerKernel> kernel = integer::LayerKernel::Create(layer, network_);
  QB_RETURN_IF_ERROR(kernel.status());
  return ForEachSample([&](int64_t sample, int worker) {
    std::vector<const void*> inputs;
    for (const int input : layer.inputs) {
      inputs.push_back(Get(input, sample));
    }
    kernel->Run(inputs, Mutable(layer.output, sample), scratch_[static_cast<size_t>(worker)]);
    return absl::OkStatus();
  });
}

absl::Status LayerwiseRun::ForEachSample(
    const std::function<absl::Status(int64_t sample, int worker)>& body) {
  absl::Mutex mutex;
  absl::Status failure;
  pool_.ParallelFor(samples(), [&](int64_t sample, int worker) {
    const absl::Status status = body(sample, worker);
    if (!status.ok()) {
      absl::MutexLock lock(&mutex);
      failure.Update(status);
    }
  });
  return failure;
}

}  // namespace qb

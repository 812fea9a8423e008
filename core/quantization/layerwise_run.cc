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
                           std::vector<int64_t> samples, const Options& options,
                           const CancelToken& cancel)
    : network_(network),
      dataset_(dataset),
      samples_(std::move(samples)),
      in_memory_(options.in_memory),
      cancel_(cancel),
      pool_(options.threads),
      workers_(static_cast<size_t>(options.threads)),
      codes_(network.tensors.size()),
      last_use_(network.tensors.size(), 0),
      constants_(network.tensors.size(), nullptr) {
  size_t most_inputs = 1;
  for (size_t layer = 0; layer < network.layers.size(); ++layer) {
    most_inputs = std::max(most_inputs, network.layers[layer].inputs.size());
    for (const int input : network.layers[layer].inputs) {
      last_use_[static_cast<size_t>(input)] = layer;
    }
  }
  for (Worker& worker : workers_) {
    worker.inputs.resize(most_inputs);
  }
  for (const integer::ConstantTensor& constant : network.constants) {
    constants_[static_cast<size_t>(constant.tensor)] = constant.bytes.data();
  }
}

absl::Status LayerwiseRun::Allocate(int tensor) {
  const size_t at = static_cast<size_t>(tensor);
  QB_ASSIGN_OR_RETURN(
      codes_[at], SampleCodes::Create(samples(), network_.tensors[at].size_bytes(), in_memory_));
  return absl::OkStatus();
}

absl::StatusOr<const void*> LayerwiseRun::Get(int tensor, int64_t sample,
                                              SampleCodes::Buffer& buffer) const {
  const uint8_t* constant = constants_[static_cast<size_t>(tensor)];
  if (constant != nullptr) {
    return constant;
  }
  return codes_[static_cast<size_t>(tensor)]->Read(sample, buffer);
}

void LayerwiseRun::ReleaseAfter(size_t layer) {
  for (const int input : network_.layers[layer].inputs) {
    if (last_use_[static_cast<size_t>(input)] == layer) {
      codes_[static_cast<size_t>(input)].reset();
    }
  }
}

absl::Status LayerwiseRun::QuantizeInputs() {
  std::vector<size_t> layers;
  for (size_t i = 0; i < network_.layers.size(); ++i) {
    if (IsInputQuantization(network_.layers[i])) {
      layers.push_back(i);
      QB_RETURN_IF_ERROR(Allocate(network_.layers[i].output));
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
  Worker& own = workers_[static_cast<size_t>(worker)];
  for (const size_t index : layers) {
    const integer::Layer& layer = network_.layers[index];
    const auto input = std::find(network_.inputs.begin(), network_.inputs.end(), layer.inputs[0]);
    const void* real = inputs[static_cast<size_t>(input - network_.inputs.begin())].raw();
    SampleCodes& codes = *codes_[static_cast<size_t>(layer.output)];
    QB_RETURN_IF_ERROR(integer::RunLayer(layer, network_, {&real, 1},
                                         codes.Place(sample, own.output), own.scratch));
    QB_RETURN_IF_ERROR(codes.Keep(sample, own.output));
  }
  return absl::OkStatus();
}

absl::Status LayerwiseRun::RunSample(const integer::LayerKernel& kernel,
                                     const integer::Layer& layer, int64_t sample, int worker) {
  Worker& own = workers_[static_cast<size_t>(worker)];
  std::vector<const void*> inputs(layer.inputs.size());
  for (size_t operand = 0; operand < inputs.size(); ++operand) {
    QB_ASSIGN_OR_RETURN(inputs[operand], Get(layer.inputs[operand], sample, own.inputs[operand]));
  }
  SampleCodes& codes = *codes_[static_cast<size_t>(layer.output)];
  kernel.Run(inputs, codes.Place(sample, own.output), own.scratch);
  return codes.Keep(sample, own.output);
}

absl::Status LayerwiseRun::RunLayer(size_t index) {
  const integer::Layer& layer = network_.layers[index];
  if (IsInputQuantization(layer)) {
    return absl::OkStatus();
  }
  QB_RETURN_IF_ERROR(Allocate(layer.output));
  const absl::StatusOr<integer::LayerKernel> kernel = integer::LayerKernel::Create(layer, network_);
  QB_RETURN_IF_ERROR(kernel.status());
  return ForEachSample(
      [&](int64_t sample, int worker) { return RunSample(*kernel, layer, sample, worker); });
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

#include "core/quantization/bias_correction.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/integer/requant.h"
#include "core/integer/run_layer.h"
#include "core/quantization/layer_selection.h"
#include "core/quantization/linear_form.h"
#include "core/quantization/weight_quantization.h"

namespace qb {
namespace {

// The codes of all samples, layer by layer; a tensor's memory goes with its last use.
class SampleActivations {
 public:
  SampleActivations(const integer::Network& network, int64_t samples)
      : network_(network), buffers_(network.tensors.size()), last_use_(network.tensors.size(), 0) {
    for (size_t layer = 0; layer < network.layers.size(); ++layer) {
      for (const int input : network.layers[layer].inputs) {
        last_use_[static_cast<size_t>(input)] = layer;
      }
    }
    constants_.resize(network.tensors.size(), nullptr);
    for (const integer::ConstantTensor& constant : network.constants) {
      constants_[static_cast<size_t>(constant.tensor)] = constant.bytes.data();
    }
    samples_ = static_cast<size_t>(samples);
  }

  void Allocate(int tensor) {
    const size_t bytes =
        static_cast<size_t>(network_.tensors[static_cast<size_t>(tensor)].size_bytes());
    auto& samples = buffers_[static_cast<size_t>(tensor)];
    samples.resize(samples_);
    for (auto& sample : samples) {
      // Not zeroed: the layer writes every byte.
      sample = std::unique_ptr<uint8_t[]>(new uint8_t[bytes]);
    }
  }
  void* Mutable(int tensor, int64_t sample) {
    return buffers_[static_cast<size_t>(tensor)][static_cast<size_t>(sample)].get();
  }
  const void* Get(int tensor, int64_t sample) const {
    const uint8_t* constant = constants_[static_cast<size_t>(tensor)];
    if (constant != nullptr) {
      return constant;
    }
    return buffers_[static_cast<size_t>(tensor)][static_cast<size_t>(sample)].get();
  }
  // Frees the inputs that no later layer reads.
  void ReleaseAfter(size_t layer) {
    for (const int input : network_.layers[layer].inputs) {
      if (last_use_[static_cast<size_t>(input)] == layer) {
        buffers_[static_cast<size_t>(input)].clear();
        buffers_[static_cast<size_t>(input)].shrink_to_fit();
      }
    }
  }

 private:
  const integer::Network& network_;
  size_t samples_ = 0;
  std::vector<std::vector<std::unique_ptr<uint8_t[]>>> buffers_;
  std::vector<size_t> last_use_;
  std::vector<const uint8_t*> constants_;  // by tensor; null: no constant
};

class Correction {
 public:
  Correction(LoweredNetwork& lowered, const CorrectionInput& input,
             const BiasCorrectionOptions& options, const CancelToken& cancel)
      : lowered_(lowered),
        table_(input.table),
        dataset_(input.dataset),
        options_(options),
        cancel_(cancel),
        pool_(options.threads),
        scratch_(static_cast<size_t>(options.threads)),
        activations_(lowered.network, samples()) {}

  absl::StatusOr<std::map<int64_t, double>> Run(ProgressSink& sink) {
    const size_t end = EndOfWork();
    if (end == 0) {
      return std::move(shifts_);
    }
    QB_RETURN_IF_ERROR(QuantizeInputs());
    for (size_t layer = 0; layer < end; ++layer) {
      // The last corrected layer's own result is of no interest.
      QB_RETURN_IF_ERROR(Step(layer, /*run=*/layer + 1 < end));
      sink.OnProgress(static_cast<int64_t>(layer) + 1, static_cast<int64_t>(end), "layer");
    }
    return std::move(shifts_);
  }

 private:
  int64_t samples() const { return static_cast<int64_t>(table_.window_samples.size()); }
  integer::Network& network() { return lowered_.network; }

  bool IsSelected(const Node* node) const {
    return table_.windows.find(node->id()) != table_.windows.end() &&
           (options_.apply_layers.empty() ||
            MatchesAnyLayer(options_.apply_layers, node->name())) &&
           !MatchesAnyLayer(options_.exclude_layers, node->name());
  }

  // One past the last layer that is corrected.
  size_t EndOfWork() const {
    size_t end = 0;
    for (const LoweredNetwork::LinearLayer& linear : lowered_.linear_layers) {
      end = IsSelected(linear.node) ? linear.layer + 1 : end;
    }
    return end;
  }

  bool IsInputQuantization(const integer::Layer& layer) const {
    return std::holds_alternative<integer::QuantizeParams>(layer.params);
  }

  // Corrects one layer if it is a selected linear one, then runs it.
  absl::Status Step(size_t layer, bool run) {
    QB_RETURN_IF_ERROR(cancel_.Check());
    if (next_linear_ < lowered_.linear_layers.size() &&
        lowered_.linear_layers[next_linear_].layer == layer) {
      QB_RETURN_IF_ERROR(CorrectLayer(lowered_.linear_layers[next_linear_++]));
    }
    if (run) {
      QB_RETURN_IF_ERROR(RunOnAllSamples(layer));
    }
    activations_.ReleaseAfter(layer);
    return absl::OkStatus();
  }

  // Runs the border layers sample by sample, so that float inputs of one sample a thread are alive.
  absl::Status QuantizeInputs() {
    std::vector<integer::LayerKernel> kernels;
    for (const integer::Layer& layer : network().layers) {
      if (!IsInputQuantization(layer)) {
        continue;
      }
      absl::StatusOr<integer::LayerKernel> kernel = integer::LayerKernel::Create(layer, network());
      QB_RETURN_IF_ERROR(kernel.status());
      kernels.push_back(*std::move(kernel));
      activations_.Allocate(layer.output);
    }
    return ForEachSample(
        [&](int64_t sample, int worker) { return QuantizeSample(kernels, sample, worker); });
  }

  absl::Status QuantizeSample(const std::vector<integer::LayerKernel>& kernels, int64_t sample,
                              int worker) {
    QB_RETURN_IF_ERROR(cancel_.Check());
    QB_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                        dataset_.Load(table_.window_samples[static_cast<size_t>(sample)]));
    for (const integer::LayerKernel& kernel : kernels) {
      const auto input =
          std::find(network().inputs.begin(), network().inputs.end(), kernel.layer().inputs[0]);
      const void* real = inputs[static_cast<size_t>(input - network().inputs.begin())].raw();
      kernel.Run({&real, 1}, activations_.Mutable(kernel.layer().output, sample),
                 scratch_[static_cast<size_t>(worker)]);
    }
    return absl::OkStatus();
  }

  absl::Status RunOnAllSamples(size_t index) {
    const integer::Layer& layer = network().layers[index];
    if (IsInputQuantization(layer)) {
      return absl::OkStatus();
    }
    activations_.Allocate(layer.output);
    absl::StatusOr<integer::LayerKernel> kernel = integer::LayerKernel::Create(layer, network());
    QB_RETURN_IF_ERROR(kernel.status());
    return ForEachSample([&](int64_t sample, int worker) {
      std::vector<const void*> inputs;
      for (const int input : layer.inputs) {
        inputs.push_back(activations_.Get(input, sample));
      }
      kernel->Run(inputs, activations_.Mutable(layer.output, sample),
                  scratch_[static_cast<size_t>(worker)]);
      return absl::OkStatus();
    });
  }

  absl::Status CorrectLayer(const LoweredNetwork::LinearLayer& linear) {
    if (!IsSelected(linear.node)) {
      return absl::OkStatus();
    }
    const integer::Layer& layer = network().layers[linear.layer];
    QB_ASSIGN_OR_RETURN(const LinearForm form, LinearFormOf(*linear.node));
    const std::vector<double> want =
        MeanBeforeActivation(form, table_.windows.at(linear.node->id()));
    std::vector<int64_t> sums(want.size(), 0);
    absl::Mutex mutex;
    QB_RETURN_IF_ERROR(ForEachSample([&](int64_t sample, int) {
      const std::vector<int64_t> of_sample =
          integer::ConvAccumulatorSums(layer, network(), activations_.Get(layer.inputs[0], sample));
      absl::MutexLock lock(&mutex);
      for (size_t m = 0; m < sums.size(); ++m) {
        sums[m] += of_sample[m];
      }
      return absl::OkStatus();
    }));
    ShiftBiases(linear, form, want, sums);
    return absl::OkStatus();
  }

  static void SetBias(integer::ConvParams& conv, size_t channel, int64_t bias) {
    if (conv.wide_bias.empty()) {
      conv.bias[channel] = static_cast<int32_t>(bias);
    } else {
      conv.wide_bias[channel] = bias;
    }
  }

  void ShiftBiases(const LoweredNetwork::LinearLayer& linear, const LinearForm& form,
                   const std::vector<double>& want, const std::vector<int64_t>& sums) {
    integer::Layer& layer = network().layers[linear.layer];
    integer::ConvParams& conv = std::get<integer::ConvParams>(layer.params);
    const integer::TensorInfo& input = network().tensors[static_cast<size_t>(layer.inputs[0])];
    const double count =
        static_cast<double>(form.window.positions()) * static_cast<double>(samples());
    const bool wide = integer::IsWide(conv, input);
    const int64_t limit = int64_t{1} << (wide ? 62 : 31);
    double largest = 0.0;
    for (size_t m = 0; m < want.size(); ++m) {
      const double step =
          static_cast<double>(input.scale) * static_cast<double>(conv.weight_scales[m]);
      const double shift = want[m] / step - static_cast<double>(sums[m]) / count;
      const int64_t before = conv.bias_of(static_cast<int64_t>(m));
      const double most = wide ? 0x1p61 : 0x1p31 - 1;
      const int64_t wanted = before + RoundHalfEven(std::clamp(shift, -most, most));
      SetBias(conv, m,
              std::clamp<int64_t>(wanted, -static_cast<int64_t>(most), static_cast<int64_t>(most)));
      if (integer::AccumulatorBound(conv, static_cast<int64_t>(m), input) >= limit) {
        SetBias(conv, m, before);  // the proof of the accumulator comes first
        continue;
      }
      largest = std::max(largest, std::abs(shift) * step);
    }
    shifts_[linear.node->id()] = largest;
  }

  // Calls body(sample, worker) for all samples, in parallel; the first error.
  template <typename Body>
  absl::Status ForEachSample(const Body& body) {
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

  LoweredNetwork& lowered_;
  const CalibrationTable& table_;
  const Dataset& dataset_;
  const BiasCorrectionOptions& options_;
  const CancelToken& cancel_;
  ThreadPool pool_;
  std::vector<integer::Scratch> scratch_;
  SampleActivations activations_;
  size_t next_linear_ = 0;
  std::map<int64_t, double> shifts_;
};

}  // namespace

absl::StatusOr<std::map<int64_t, double>> CorrectBiases(LoweredNetwork& lowered,
                                                        const CorrectionInput& input,
                                                        const BiasCorrectionOptions& options,
                                                        ProgressSink& sink,
                                                        const CancelToken& cancel) {
  if (input.table.window_samples.empty()) {
    return std::map<int64_t, double>();
  }
  return Correction(lowered, input, options, cancel).Run(sink);
}

}  // namespace qb

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
#include "core/quantization/table_shift.h"
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

  bool IsSelected(const LoweredNetwork::LinearLayer& linear) const {
    const Node* node = linear.node;
    const Node* measured = linear.table_node == nullptr ? node : linear.table_node;
    return table_.windows.find(measured->id()) != table_.windows.end() &&
           (options_.apply_layers.empty() ||
            MatchesAnyLayer(options_.apply_layers, node->name())) &&
           !MatchesAnyLayer(options_.exclude_layers, node->name());
  }

  // One past the last layer that is corrected.
  size_t EndOfWork() const {
    size_t end = 0;
    for (const LoweredNetwork::LinearLayer& linear : lowered_.linear_layers) {
      end = IsSelected(linear) ? linear.layer + 1 : end;
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
    if (!IsSelected(linear)) {
      return absl::OkStatus();
    }
    QB_ASSIGN_OR_RETURN(const std::vector<double> shifts, linear.table_node == nullptr
                                                              ? ShiftsBeforeActivation(linear)
                                                              : ShiftsThroughTable(linear));
    ShiftBiases(linear, shifts);
    return absl::OkStatus();
  }

  // What the mean of each channel before the activation lacks, in real units.
  absl::StatusOr<std::vector<double>> ShiftsBeforeActivation(
      const LoweredNetwork::LinearLayer& linear) {
    const integer::Layer& layer = network().layers[linear.layer];
    QB_ASSIGN_OR_RETURN(const LinearForm form, LinearFormOf(*linear.node));
    std::vector<double> shifts = MeanBeforeActivation(form, table_.windows.at(linear.node->id()));
    std::vector<int64_t> sums(shifts.size(), 0);
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
    const double count =
        static_cast<double>(form.window.positions()) * static_cast<double>(samples());
    for (size_t m = 0; m < shifts.size(); ++m) {
      shifts[m] -= static_cast<double>(sums[m]) / count * AccumulatorStep(layer, m);
    }
    return shifts;
  }

  // What moves the mean of each channel behind the table to that of the float model, in real units
  // before it: an error where the table is flat is none.
  absl::StatusOr<std::vector<double>> ShiftsThroughTable(
      const LoweredNetwork::LinearLayer& linear) {
    QB_RETURN_IF_ERROR(RunOnAllSamples(linear.layer));
    const integer::TensorInfo& codes = tensor(network().layers[linear.layer].output);
    const std::vector<double>& want = table_.windows.at(linear.table_node->id());
    std::vector<std::unique_ptr<CodeCounts>> counts(static_cast<size_t>(options_.threads));
    QB_RETURN_IF_ERROR(ForEachSample([&](int64_t sample, int worker) {
      std::unique_ptr<CodeCounts>& own = counts[static_cast<size_t>(worker)];
      if (own == nullptr) {
        own = std::make_unique<CodeCounts>(want.size());
      }
      const void* values = activations_.Get(network().layers[linear.layer].output, sample);
      own->Add({static_cast<const int16_t*>(values), static_cast<size_t>(codes.shape.elements())});
      return absl::OkStatus();
    }));
    CodeCounts all(want.size());
    for (const std::unique_ptr<CodeCounts>& of_worker : counts) {
      if (of_worker != nullptr) {
        all.Add(*of_worker);
      }
    }
    const integer::Layer& table = network().layers[linear.table];
    std::vector<double> shifts =
        ShiftsForMeans(std::get<integer::LutParams>(table.params), tensor(table.output), all, want);
    for (double& shift : shifts) {
      shift *= static_cast<double>(codes.scale);
    }
    return shifts;
  }

  const integer::TensorInfo& tensor(int index) const {
    return lowered_.network.tensors[static_cast<size_t>(index)];
  }

  // What one step of a channel's accumulator stands for.
  double AccumulatorStep(const integer::Layer& layer, size_t channel) const {
    const std::vector<float>& factors = tensor(layer.output).channel_factors;
    const integer::ConvParams& conv = std::get<integer::ConvParams>(layer.params);
    return static_cast<double>(tensor(layer.inputs[0]).scale) *
           static_cast<double>(conv.weight_scales[channel]) *
           (factors.empty() ? 1.0 : static_cast<double>(factors[channel]));
  }

  static void SetBias(integer::ConvParams& conv, size_t channel, int64_t bias) {
    if (conv.wide_bias.empty()) {
      conv.bias[channel] = static_cast<int32_t>(bias);
    } else {
      conv.wide_bias[channel] = bias;
    }
  }

  // `shifts` in real units.
  void ShiftBiases(const LoweredNetwork::LinearLayer& linear, const std::vector<double>& shifts) {
    integer::Layer& layer = network().layers[linear.layer];
    integer::ConvParams& conv = std::get<integer::ConvParams>(layer.params);
    const integer::TensorInfo& input = tensor(layer.inputs[0]);
    const bool wide = integer::IsWide(conv, input);
    const int64_t limit = int64_t{1} << (wide ? 62 : 31);
    const double most = wide ? 0x1p61 : 0x1p31 - 1;
    double largest = 0.0;
    for (size_t m = 0; m < shifts.size(); ++m) {
      const double shift = shifts[m] / AccumulatorStep(layer, m);
      const int64_t before = conv.bias_of(static_cast<int64_t>(m));
      const int64_t wanted = before + RoundHalfEven(std::clamp(shift, -most, most));
      SetBias(conv, m,
              std::clamp<int64_t>(wanted, -static_cast<int64_t>(most), static_cast<int64_t>(most)));
      if (integer::AccumulatorBound(conv, static_cast<int64_t>(m), input) >= limit) {
        SetBias(conv, m, before);  // the proof of the accumulator comes first
        continue;
      }
      largest = std::max(largest, std::abs(shifts[m]));
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

#include "core/quantization/bias_correction.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"

#include "core/base/status_macros.h"
#include "core/integer/requant.h"
#include "core/integer/run_layer.h"
#include "core/quantization/layer_selection.h"
#include "core/quantization/layerwise_run.h"
#include "core/quantization/linear_form.h"
#include "core/quantization/table_shift.h"
#include "core/quantization/weight_quantization.h"

namespace qb {
namespace {

class Correction {
 public:
  Correction(LoweredNetwork& lowered, const CorrectionInput& input,
             const BiasCorrectionOptions& options, const CancelToken& cancel)
      : lowered_(lowered),
        table_(input.table),
        options_(options),
        cancel_(cancel),
        run_(lowered.network, input.dataset, input.table.window_samples,
             {.threads = options.threads}, cancel) {}

  absl::StatusOr<std::map<int64_t, double>> Run(ProgressSink& sink) {
    const size_t end = EndOfWork();
    if (end == 0) {
      return std::move(shifts_);
    }
    QB_RETURN_IF_ERROR(run_.QuantizeInputs());
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

  // Corrects one layer if it is a selected linear one, then runs it.
  absl::Status Step(size_t layer, bool run) {
    QB_RETURN_IF_ERROR(cancel_.Check());
    if (next_linear_ < lowered_.linear_layers.size() &&
        lowered_.linear_layers[next_linear_].layer == layer) {
      QB_RETURN_IF_ERROR(CorrectLayer(lowered_.linear_layers[next_linear_++]));
    }
    if (run) {
      QB_RETURN_IF_ERROR(run_.RunLayer(layer));
    }
    run_.ReleaseAfter(layer);
    return absl::OkStatus();
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
    QB_RETURN_IF_ERROR(run_.ForEachSample([&](int64_t sample, int worker) {
      QB_ASSIGN_OR_RETURN(const void* codes, run_.Input(linear.layer, sample, worker));
      const std::vector<int64_t> of_sample = integer::ConvAccumulatorSums(layer, network(), codes);
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
    QB_RETURN_IF_ERROR(run_.RunLayer(linear.layer));
    const integer::TensorInfo& codes = tensor(network().layers[linear.layer].output);
    const std::vector<double>& want = table_.windows.at(linear.table_node->id());
    std::vector<std::unique_ptr<CodeCounts>> counts(static_cast<size_t>(options_.threads));
    QB_RETURN_IF_ERROR(run_.ForEachSample([&](int64_t sample, int worker) {
      std::unique_ptr<CodeCounts>& own = counts[static_cast<size_t>(worker)];
      if (own == nullptr) {
        own = std::make_unique<CodeCounts>(want.size());
      }
      QB_ASSIGN_OR_RETURN(const void* values, run_.Output(linear.layer, sample, worker));
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

  // `shifts` in real units.
  void ShiftBiases(const LoweredNetwork::LinearLayer& linear, const std::vector<double>& shifts) {
    integer::Layer& layer = network().layers[linear.layer];
    integer::ConvParams& conv = std::get<integer::ConvParams>(layer.params);
    const integer::TensorInfo& input = tensor(layer.inputs[0]);
    double largest = 0.0;
    for (size_t m = 0; m < shifts.size(); ++m) {
      // The proof of the accumulator comes first.
      if (ShiftBias(conv, static_cast<int64_t>(m), shifts[m] / AccumulatorStep(layer, m), input)) {
        largest = std::max(largest, std::abs(shifts[m]));
      }
    }
    shifts_[linear.node->id()] = largest;
  }

  LoweredNetwork& lowered_;
  const CalibrationTable& table_;
  const BiasCorrectionOptions& options_;
  const CancelToken& cancel_;
  LayerwiseRun run_;
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

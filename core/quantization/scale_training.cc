#include "core/quantization/scale_training.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/calibration/sample_choice.h"
#include "core/execute/executor.h"
#include "core/integer/element_steps.h"
#include "core/integer/requant.h"
#include "core/integer/run_layer.h"
#include "core/quantization/layer_selection.h"
#include "core/quantization/layerwise_run.h"
#include "core/quantization/linear_form.h"
#include "core/quantization/weight_quantization.h"

namespace qb {
namespace {

// Of all samples together, by layer: two parameters a channel need no more.
constexpr int64_t kMostTrainedElements = int64_t{1} << 18;
// Steps of the sums that training sees, in one of an 8-bit result.
constexpr float kSumSteps = 128.0f;

// Evenly spaced places of a tensor [.., channels], the first always.
class Places {
 public:
  Places(const Shape& shape, int64_t samples)
      : channels_(shape[shape.rank() - 1]), all_(shape.elements() / channels_) {
    const int64_t most = std::max<int64_t>(1, kMostTrainedElements / (channels_ * samples));
    stride_ = (all_ + most - 1) / most;
  }
  int64_t channels() const { return channels_; }
  // Calls visit(element) for all channels of each place, in order.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (int64_t place = 0; place < all_; place += stride_) {
      for (int64_t c = 0; c < channels_; ++c) {
        visit(static_cast<size_t>(place * channels_ + c));
      }
    }
  }

 private:
  int64_t channels_, all_, stride_ = 1;
};

double Clamped(const Activation& activation, double x) {
  switch (activation.kind) {
    case ActivationKind::kNone:
      return x;
    case ActivationKind::kRelu:
      return std::max(x, 0.0);
    case ActivationKind::kClip:
      return std::clamp<double>(x, activation.min, activation.max);
  }
  return x;
}

class Training {
 public:
  Training(LoweredNetwork& lowered, const RefinementInput& input,
           const ScaleTrainingOptions& options, const CancelToken& cancel)
      : lowered_(lowered), input_(input), options_(options), cancel_(cancel) {}

  absl::StatusOr<std::map<int64_t, double>> Run(ProgressSink& sink) {
    QB_RETURN_IF_ERROR(ChooseLayers());
    if (wanted_.empty()) {
      return std::move(shares_);
    }
    const int64_t live = std::max<int64_t>(1, input_.plan.LargestLiveBytes());
    QB_ASSIGN_OR_RETURN(samples_, SamplesByContent(input_.dataset,
                                                   std::clamp<int64_t>(options_.most_bytes / live,
                                                                       1, options_.samples),
                                                   options_.threads, cancel_));
    run_ =
        std::make_unique<LayerwiseRun>(lowered_.network, input_.dataset, samples_,
                                       LayerwiseRun::Options{.threads = options_.threads}, cancel_);
    QB_RETURN_IF_ERROR(AskTheTeacher());
    QB_RETURN_IF_ERROR(run_->QuantizeInputs());
    const size_t end = wanted_.back()->layer + 1;
    size_t next = 0;
    for (size_t layer = 0; layer < end; ++layer) {
      QB_RETURN_IF_ERROR(cancel_.Check());
      if (wanted_[next]->layer == layer) {
        QB_RETURN_IF_ERROR(TrainLayer(*wanted_[next++]));
      }
      if (layer + 1 < end) {
        QB_RETURN_IF_ERROR(run_->RunLayer(layer));
      }
      run_->ReleaseAfter(layer);
      sink.OnProgress(static_cast<int64_t>(layer) + 1, static_cast<int64_t>(end), "layer");
    }
    return std::move(shares_);
  }

 private:
  integer::Network& network() { return lowered_.network; }
  integer::TensorInfo& tensor(int index) { return network().tensors[static_cast<size_t>(index)]; }

  absl::Status ChooseLayers() {
    for (const std::string& pattern : options_.layers) {
      const bool found = std::any_of(lowered_.linear_layers.begin(), lowered_.linear_layers.end(),
                                     [&](const LoweredNetwork::LinearLayer& linear) {
                                       return MatchesLayer(pattern, linear.node->name());
                                     });
      if (!found) {
        return Failure(
            FailureCode::kArgumentError,
            absl::StrCat(
                "mod.attributes.layers: '", pattern,
                "' matches no layer with weights; layers begin with '",
                lowered_.linear_layers.empty() ? "" : lowered_.linear_layers[0].node->name(), "'"));
      }
    }
    for (const LoweredNetwork::LinearLayer& linear : lowered_.linear_layers) {
      const bool named =
          options_.layers.empty() || MatchesAnyLayer(options_.layers, linear.node->name());
      const auto& params = network().layers[linear.layer].params;
      if (named && std::holds_alternative<integer::ConvParams>(params) &&
          linear.node->shape().rank() > 0) {
        wanted_.push_back(&linear);
      }
    }
    return absl::OkStatus();
  }

  static const Node* ResultOf(const LoweredNetwork::LinearLayer& linear) {
    return linear.table_node == nullptr ? linear.node : linear.table_node;
  }
  Places PlacesOf(const Node* result) const {
    return {result->shape(), static_cast<int64_t>(samples_.size())};
  }

  // The float model's results of all layers that are trained, at their places.
  absl::Status AskTheTeacher() {
    ExecutorOptions options;
    for (const LoweredNetwork::LinearLayer* linear : wanted_) {
      options.observed.push_back(ResultOf(*linear));
      targets_[ResultOf(*linear)].resize(samples_.size());
    }
    QB_ASSIGN_OR_RETURN(const std::unique_ptr<FloatExecutor> executor,
                        CreateCpuExecutor(input_.plan.graph(), options));
    std::vector<std::unique_ptr<FloatExecutor::Context>> contexts(
        static_cast<size_t>(run_->pool().threads()));
    return run_->ForEachSample([&](int64_t sample, int worker) -> absl::Status {
      QB_RETURN_IF_ERROR(cancel_.Check());
      auto& context = contexts[static_cast<size_t>(worker)];
      if (context == nullptr) {
        context = executor->NewContext();
      }
      RunOptions run;
      run.observer = [&](const Node& node, const Tensor& view) {
        const auto found = targets_.find(&node);
        if (found != targets_.end()) {
          std::vector<float>& taken = found->second[static_cast<size_t>(sample)];
          PlacesOf(&node).ForEach([&](size_t i) { taken.push_back(view.data<float>()[i]); });
        }
      };
      QB_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                          input_.dataset.Load(samples_[static_cast<size_t>(sample)]));
      std::vector<Tensor> outputs;
      return executor->Run(*context, inputs, run, &outputs);
    });
  }

  absl::Status TrainLayer(const LoweredNetwork::LinearLayer& linear) {
    std::vector<std::vector<float>>& targets = targets_.at(ResultOf(linear));
    std::vector<FitData> data(samples_.size());
    const int64_t channels = PlacesOf(ResultOf(linear)).channels();
    for (size_t i = 0; i < data.size(); ++i) {
      data[i].channels = channels;
      data[i].targets = std::move(targets[i]);
    }
    targets_.erase(ResultOf(linear));
    QB_ASSIGN_OR_RETURN(const double before, RoundedLoss(linear, data));
    QB_RETURN_IF_ERROR(TakeSums(linear, data));
    QB_ASSIGN_OR_RETURN(const ResponseCurve curve, CurveOf(linear));
    const ChannelFit fit = FitChannels(data, curve, options_.fit);
    integer::ConvParams& conv =
        std::get<integer::ConvParams>(network().layers[linear.layer].params);
    integer::ConvParams kept = conv;
    Apply(fit, network().layers[linear.layer], conv);
    QB_ASSIGN_OR_RETURN(const double after, RoundedLoss(linear, data));
    if (!(after < before)) {
      conv = std::move(kept);
    }
    shares_[linear.node->id()] = after < before ? after / before : 1.0;
    return absl::OkStatus();
  }

  // What the layer gives as it is, codes and all. Leaves data[..].sums in a state of its own.
  absl::StatusOr<double> RoundedLoss(const LoweredNetwork::LinearLayer& linear,
                                     std::vector<FitData>& data) {
    QB_RETURN_IF_ERROR(run_->RunLayer(linear.layer));
    size_t last = linear.layer;
    if (linear.table_node != nullptr) {
      last = linear.table;
      QB_RETURN_IF_ERROR(run_->RunLayer(last));
    }
    const integer::TensorInfo& info = tensor(network().layers[last].output);
    const Places places = PlacesOf(ResultOf(linear));
    QB_RETURN_IF_ERROR(run_->ForEachSample([&](int64_t sample, int worker) -> absl::Status {
      QB_ASSIGN_OR_RETURN(const void* codes, run_->Output(last, sample, worker));
      TakeReals(info, places, codes, data[static_cast<size_t>(sample)].sums);
      return absl::OkStatus();
    }));
    FitData all;
    all.channels = places.channels();
    for (const FitData& of_sample : data) {
      all.sums.insert(all.sums.end(), of_sample.sums.begin(), of_sample.sums.end());
      all.targets.insert(all.targets.end(), of_sample.targets.begin(), of_sample.targets.end());
    }
    const ResponseCurve straight([](double x) { return x; }, -1.0, 1.0);
    return LossOf(all, ChannelFit::Identity(all.channels), straight, options_.fit.loss);
  }

  static void TakeReals(const integer::TensorInfo& info, const Places& places, const void* codes,
                        std::vector<float>& reals) {
    const integer::ElementSteps steps(info);
    reals.clear();
    places.ForEach([&](size_t i) {
      const size_t channel = steps.ChannelOf(i);
      const int32_t code = info.dtype == DType::kInt16
                               ? int32_t{static_cast<const int16_t*>(codes)[i]}
                               : int32_t{static_cast<const int8_t*>(codes)[i]};
      reals.push_back(steps.scale(channel) * static_cast<float>(code - steps.zero_point(channel)));
    });
  }

  // The layer's result before its clamp, in steps finer than its own, as `data`'s sums.
  absl::Status TakeSums(const LoweredNetwork::LinearLayer& linear, std::vector<FitData>& data) {
    const integer::Layer& layer = network().layers[linear.layer];
    integer::Network probe;
    probe.tensors = {tensor(layer.inputs[0]), FineSums(tensor(layer.output))};
    const integer::TensorInfo& sums = probe.tensors[1];
    integer::ConvParams conv = std::get<integer::ConvParams>(layer.params);
    conv.clamp_min = integer::LeastCode(DType::kInt16);
    conv.clamp_max = integer::MostCode(DType::kInt16);
    for (size_t m = 0; m < conv.requant.size(); ++m) {
      conv.requant[m] =
          RequantFor(static_cast<double>(probe.tensors[0].scale) *
                     static_cast<double>(conv.weight_scales[m]) / static_cast<double>(sums.scale));
    }
    const integer::Layer probing{layer.name, {0}, 1, std::move(conv)};
    absl::StatusOr<integer::LayerKernel> kernel = integer::LayerKernel::Create(probing, probe);
    QB_RETURN_IF_ERROR(kernel.status());
    const Places places(sums.shape, static_cast<int64_t>(samples_.size()));
    std::vector<integer::Scratch> scratch(static_cast<size_t>(run_->pool().threads()));
    return run_->ForEachSample([&](int64_t sample, int worker) -> absl::Status {
      std::vector<int16_t> codes(static_cast<size_t>(sums.shape.elements()));
      QB_ASSIGN_OR_RETURN(const void* in, run_->Input(linear.layer, sample, worker));
      kernel->Run({&in, 1}, codes.data(), scratch[static_cast<size_t>(worker)]);
      TakeReals(sums, places, codes.data(), data[static_cast<size_t>(sample)].sums);
      return absl::OkStatus();
    });
  }

  static integer::TensorInfo FineSums(integer::TensorInfo info) {
    if (info.dtype == DType::kInt8) {
      info.dtype = DType::kInt16;
      info.scale /= kSumSteps;
      info.zero_point = 0;
    }
    return info;
  }

  absl::StatusOr<ResponseCurve> CurveOf(const LoweredNetwork::LinearLayer& linear) {
    const integer::TensorInfo sums = FineSums(tensor(network().layers[linear.layer].output));
    const double most = static_cast<double>(sums.scale) * integer::MostCode(DType::kInt16);
    if (linear.table_node != nullptr) {
      return ResponseCurve(
          [&](double x) { return input_.plan.closures().Evaluate(linear.table_node, x); }, -most,
          most);
    }
    QB_ASSIGN_OR_RETURN(const LinearForm form, LinearFormOf(*linear.node));
    return ResponseCurve([&](double x) { return Clamped(form.activation, x); }, -most, most);
  }

  void Apply(const ChannelFit& fit, const integer::Layer& layer, integer::ConvParams& conv) {
    const integer::TensorInfo& input = tensor(layer.inputs[0]);
    const integer::TensorInfo& output = tensor(layer.output);
    for (size_t m = 0; m < fit.scale.size(); ++m) {
      const float scale = static_cast<float>(conv.weight_scales[m] * fit.scale[m]);
      const double factor = output.channel_factors.empty() ? 1.0 : output.channel_factors[m];
      const double step = static_cast<double>(input.scale) * static_cast<double>(scale);
      // The proof of the accumulator comes first.
      if (ShiftBias(conv, static_cast<int64_t>(m), fit.shift[m] / (step * factor), input)) {
        conv.weight_scales[m] = scale;
        conv.requant[m] = RequantFor(step / static_cast<double>(output.scale));
      }
    }
  }

  LoweredNetwork& lowered_;
  const RefinementInput& input_;
  const ScaleTrainingOptions& options_;
  const CancelToken& cancel_;
  std::vector<const LoweredNetwork::LinearLayer*> wanted_;
  std::vector<int64_t> samples_;
  std::unique_ptr<LayerwiseRun> run_;
  absl::flat_hash_map<const Node*, std::vector<std::vector<float>>> targets_;  // by sample
  std::map<int64_t, double> shares_;
};

}  // namespace

absl::StatusOr<std::map<int64_t, double>> TrainScales(LoweredNetwork& lowered,
                                                      const RefinementInput& input,
                                                      const ScaleTrainingOptions& options,
                                                      ProgressSink& sink,
                                                      const CancelToken& cancel) {
  return Training(lowered, input, options, cancel).Run(sink);
}

}  // namespace qb

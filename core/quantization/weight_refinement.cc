#include "core/quantization/weight_refinement.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/calibration/sample_choice.h"
#include "core/quantization/hessian/float_inputs.h"
#include "core/quantization/hessian/layer_moments.h"
#include "core/quantization/layer_selection.h"
#include "core/quantization/layerwise_run.h"
#include "core/quantization/linear_form.h"
#include "core/quantization/weight_quantization.h"

namespace qb {
namespace {

constexpr int64_t kMostTaps = 4608;
constexpr int64_t kMostFloatInputBytes = int64_t{256} << 20;
// Steps of a float input a code of 8 bits: fine against the mismatch, and 1024 codes fit 16 bits.
constexpr int64_t kFloatResolution = 32;
// Products that the search over scales of one layer may take.
constexpr double kMostSearchProducts = 4e9;
// Up to so many taps a searched scale is judged on all second moments, beyond on the diagonal.
constexpr int64_t kMostJudgedTaps = 512;

// `count` shares from `least` to 1, falling.
std::vector<double> Shares(double least, int count) {
  std::vector<double> shares;
  shares.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    shares.push_back(count == 1 ? 1.0 : 1.0 - (1.0 - least) * i / (count - 1));
  }
  return shares;
}

// What one layer's channels are judged by.
struct Channel {
  absl::Span<const float> weights;
  const InputMoments* moments = nullptr;
  std::vector<double> pull;  // 2 w shift, or empty: the mismatch of the inputs
};

// Squared error of the channel's result over the samples, but for a constant.
double ErrorOf(const Channel& channel, absl::Span<const int8_t> codes, double scale) {
  const int64_t taps = channel.moments->taps;
  std::vector<double> off(static_cast<size_t>(taps));
  for (int64_t i = 0; i < taps; ++i) {
    const size_t at = static_cast<size_t>(i);
    off[at] = static_cast<double>(channel.weights[at]) - scale * codes[at];
  }
  double error = 0.0;
  for (int64_t i = 0; i < taps; ++i) {
    const double* h = channel.moments->h.data() + i * taps;
    double product = channel.pull.empty() ? 0.0 : channel.pull[static_cast<size_t>(i)];
    for (int64_t j = 0; j < taps; ++j) {
      product += h[j] * off[static_cast<size_t>(j)];
    }
    error += off[static_cast<size_t>(i)] * product;
  }
  return error;
}

double DiagonalErrorOf(const Channel& channel, absl::Span<const int8_t> codes, double scale) {
  const int64_t taps = channel.moments->taps;
  double error = 0.0;
  for (int64_t i = 0; i < taps; ++i) {
    const size_t at = static_cast<size_t>(i);
    const double off = static_cast<double>(channel.weights[at]) - scale * codes[at];
    error += off * off * channel.moments->h[static_cast<size_t>(i * taps + i)];
  }
  return error;
}

class Refinement {
 public:
  Refinement(LoweredNetwork& lowered, const RefinementInput& input,
             const WeightRefinementOptions& options, ProgressSink& sink, const CancelToken& cancel)
      : lowered_(lowered), input_(input), options_(options), sink_(sink), cancel_(cancel) {}

  absl::StatusOr<std::map<int64_t, RefinedLayer>> Run() {
    size_t end = 0;
    for (const LoweredNetwork::LinearLayer& linear : lowered_.linear_layers) {
      if (IsWanted(linear)) {
        wanted_.push_back(&linear);
        end = linear.layer + 1;
      }
    }
    if (wanted_.empty()) {
      return std::move(results_);
    }
    QB_RETURN_IF_ERROR(Prepare());
    QB_RETURN_IF_ERROR(run_->QuantizeInputs());
    size_t next = 0;
    for (size_t layer = 0; layer < end; ++layer) {
      QB_RETURN_IF_ERROR(cancel_.Check());
      if (wanted_[next]->layer == layer) {
        QB_RETURN_IF_ERROR(RefineLayer(next++));
      }
      if (layer + 1 < end) {
        QB_RETURN_IF_ERROR(run_->RunLayer(layer));
      }
      run_->ReleaseAfter(layer);
      sink_.OnProgress(static_cast<int64_t>(layer) + 1, static_cast<int64_t>(end), "layer");
    }
    return std::move(results_);
  }

 private:
  integer::Network& network() { return lowered_.network; }

  // The layers that refinement can work on and that the options name.
  bool IsWanted(const LoweredNetwork::LinearLayer& linear) {
    const bool named =
        options_.hessian || MatchesAnyLayer(options_.scale_layers, linear.node->name());
    const auto* conv = std::get_if<integer::ConvParams>(&network().layers[linear.layer].params);
    if (!named || linear.node->op() == OpKind::kBatchnorm) {
      return false;
    }
    std::string why;
    if (conv == nullptr) {
      why = "a transposed convolution's weights are rounded to the nearest";
    } else if (conv->weight_bits == 16) {
      why = "16-bit weights are rounded to the nearest";
    } else if (conv->weight_count() / std::max<int64_t>(1, Channels(*conv)) > kMostTaps) {
      why = absl::StrCat("weights of more than ", kMostTaps, " taps are rounded to the nearest");
    }
    if (!why.empty()) {
      results_[linear.node->id()].note = why;
    }
    return why.empty();
  }

  static int64_t Channels(const integer::ConvParams& conv) {
    return static_cast<int64_t>(conv.weight_scales.size());
  }

  bool needs_shift() const { return options_.hessian && ColumnSolver::NeedsShift(options_.solver); }

  absl::Status Prepare() {
    const int64_t live = std::max<int64_t>(1, input_.plan.LargestLiveBytes());
    const int64_t count = std::clamp<int64_t>(options_.most_bytes / live, 1, options_.samples);
    QB_ASSIGN_OR_RETURN(const std::vector<int64_t> samples,
                        ChooseSamples(input_.dataset, count, options_.threads, cancel_));
    // The moments of a layer are taken over all samples at a time.
    run_ = std::make_unique<LayerwiseRun>(
        network(), input_.dataset, samples,
        LayerwiseRun::Options{.threads = options_.threads, .in_memory = count}, cancel_);
    if (needs_shift()) {
      std::vector<WantedInput> inputs;
      for (const LoweredNetwork::LinearLayer* linear : wanted_) {
        QB_ASSIGN_OR_RETURN(const LinearForm form, LinearFormOf(*linear->node));
        const integer::TensorInfo& codes = CodesOfInput(*linear);
        inputs.push_back({form.input, codes.scale, Resolution(codes)});
      }
      QB_ASSIGN_OR_RETURN(float_inputs_,
                          FloatInputs::Create(input_.plan.graph(), input_.dataset, samples,
                                              std::move(inputs), kMostFloatInputBytes));
    }
    return absl::OkStatus();
  }

  const integer::TensorInfo& CodesOfInput(const LoweredNetwork::LinearLayer& linear) {
    return network().tensors[static_cast<size_t>(network().layers[linear.layer].inputs[0])];
  }
  static int64_t Resolution(const integer::TensorInfo& codes) {
    return codes.dtype == DType::kInt16 ? 1 : kFloatResolution;
  }

  absl::Status RefineLayer(size_t index) {
    const LoweredNetwork::LinearLayer& linear = *wanted_[index];
    QB_ASSIGN_OR_RETURN(const LinearForm form, LinearFormOf(*linear.node));
    const integer::TensorInfo& codes = CodesOfInput(linear);
    LayerInputs inputs{form.window, form.groups, codes.dtype,      codes.zero_point,
                       {},          nullptr,     Resolution(codes)};
    for (int64_t sample = 0; sample < run_->samples(); ++sample) {
      QB_ASSIGN_OR_RETURN(const void* codes_of_sample,
                          run_->Input(linear.layer, sample, /*worker=*/0));
      inputs.codes.push_back(codes_of_sample);
    }
    if (needs_shift()) {
      QB_ASSIGN_OR_RETURN(inputs.real, float_inputs_->Get(index, run_->pool(), cancel_));
    }
    std::vector<InputMoments> moments = MomentsOf(inputs, run_->pool());
    RefinedLayer& result = results_[linear.node->id()];
    double before = 0.0, after = 0.0;
    for (size_t group = 0; group < moments.size(); ++group) {
      StoreAs(options_.half_moments, moments[group]);
      if (!MeetsAnything(moments[group])) {
        continue;
      }
      RefineGroup(linear, form, {static_cast<int64_t>(group), moments[group]}, before, after);
    }
    if (before > 0.0) {
      result.error_share = after / before;
    } else {
      result.note = "its inputs are zero in every sample: weights are rounded to the nearest";
      sink_.OnLog(LogLevel::kWarning, "hessianQuant",
                  absl::StrCat("layer '", linear.node->name(), "': ", result.note));
    }
    return absl::OkStatus();
  }

  static bool MeetsAnything(const InputMoments& moments) {
    double trace = 0.0;
    for (int64_t i = 0; i < moments.taps; ++i) {
      trace += moments.h[static_cast<size_t>(i * moments.taps + i)];
    }
    return trace > 0.0;
  }

  static void StoreAs(bool half, InputMoments& moments) {
    for (std::vector<double>* matrix : {&moments.h, &moments.shift}) {
      for (double& value : *matrix) {
        value = half ? NearestHalf(static_cast<float>(value)) : static_cast<float>(value);
      }
    }
  }

  // To bfloat16, half to even.
  static float NearestHalf(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u);
  }

  struct Group {
    int64_t index = 0;
    const InputMoments& moments;
  };

  void RefineGroup(const LoweredNetwork::LinearLayer& linear, const LinearForm& form,
                   const Group& group, double& before, double& after) {
    integer::ConvParams& conv =
        std::get<integer::ConvParams>(network().layers[linear.layer].params);
    const int64_t taps = group.moments.taps;
    const int64_t rows = form.channels_out() / form.groups;
    const int64_t first = group.index * rows;
    const absl::Span<const float> weights = form.weights.values<float>().subspan(
        static_cast<size_t>(first * taps), static_cast<size_t>(rows * taps));
    const std::vector<ColumnSolver::Row> solved =
        options_.hessian ? SolveRows(conv, group, weights) : SearchRows(conv, group, weights);
    const integer::TensorInfo& input = CodesOfInput(linear);
    const integer::TensorInfo& output =
        network().tensors[static_cast<size_t>(network().layers[linear.layer].output)];
    std::vector<double> errors_before(static_cast<size_t>(rows)),
        errors_after(errors_before.size());
    run_->pool().ParallelFor(rows, [&](int64_t r, int) {
      const size_t at = static_cast<size_t>(r);
      const ColumnSolver::Row& row = solved[at];
      const int64_t m = first + r;
      const Channel channel = ChannelOf(
          group, weights.subspan(at * static_cast<size_t>(taps), static_cast<size_t>(taps)));
      const absl::Span<const int8_t> held(conv.weights.data() + m * taps,
                                          static_cast<size_t>(taps));
      errors_before[at] = ErrorOf(channel, held, RealWeightScale(conv, output, m));
      errors_after[at] = errors_before[at];
      if (row.codes.empty() || IsDead(held)) {
        return;
      }
      const double error = ErrorOf(channel, row.codes, row.scale);
      if (error < errors_before[at] &&
          ReplaceChannel(conv, m, {row.codes, row.scale, form.bias[static_cast<size_t>(m)]}, input,
                         output)) {
        errors_after[at] = error;
      }
    });
    before += std::accumulate(errors_before.begin(), errors_before.end(), 0.0);
    after += std::accumulate(errors_after.begin(), errors_after.end(), 0.0);
  }

  static double RealWeightScale(const integer::ConvParams& conv, const integer::TensorInfo& output,
                                int64_t channel) {
    const size_t at = static_cast<size_t>(channel);
    const double scale = conv.weight_scales[at];
    return output.channel_factors.empty() ? scale : scale * output.channel_factors[at];
  }

  static bool IsDead(absl::Span<const int8_t> codes) {
    return std::all_of(codes.begin(), codes.end(), [](int8_t code) { return code == 0; });
  }

  Channel ChannelOf(const Group& group, absl::Span<const float> weights) const {
    Channel channel{weights, &group.moments, {}};
    if (group.moments.shift.empty()) {
      return channel;
    }
    const int64_t taps = group.moments.taps;
    channel.pull.assign(static_cast<size_t>(taps), 0.0);
    for (int64_t i = 0; i < taps; ++i) {
      for (int64_t j = 0; j < taps; ++j) {
        channel.pull[static_cast<size_t>(j)] +=
            2.0 * static_cast<double>(weights[static_cast<size_t>(i)]) *
            group.moments.shift[static_cast<size_t>(i * taps + j)];
      }
    }
    return channel;
  }

  static int Most(const integer::ConvParams& conv) { return conv.weight_bits == 4 ? 7 : 127; }

  std::vector<ColumnSolver::Row> SolveRows(const integer::ConvParams& conv, const Group& group,
                                           absl::Span<const float> weights) {
    const ColumnSolver solver(group.moments, options_.solver);
    const double products =
        static_cast<double>(weights.size()) * static_cast<double>(group.moments.taps);
    const int most_trials = conv.weight_bits == 4 ? 13 : 5;
    const int trials = std::clamp(static_cast<int>(kMostSearchProducts / products), 1, most_trials);
    return solver.Solve(weights, Most(conv),
                        Shares(conv.weight_bits == 4 ? 0.5 : 0.9, std::max(trials, 1)),
                        run_->pool());
  }

  // Each channel at the scale at which rounding to the nearest costs least.
  std::vector<ColumnSolver::Row> SearchRows(const integer::ConvParams& conv, const Group& group,
                                            absl::Span<const float> weights) {
    const size_t taps = static_cast<size_t>(group.moments.taps);
    std::vector<ColumnSolver::Row> rows(weights.size() / taps);
    const std::vector<double> shares = Shares(0.5, 41);
    run_->pool().ParallelFor(static_cast<int64_t>(rows.size()), [&](int64_t r, int) {
      const Channel channel =
          ChannelOf(group, weights.subspan(static_cast<size_t>(r) * taps, taps));
      ColumnSolver::Row& best = rows[static_cast<size_t>(r)];
      best.loss = std::numeric_limits<double>::infinity();
      for (const double share : shares) {
        ColumnSolver::Row row = NearestRow(channel.weights, Most(conv), share);
        row.loss = group.moments.taps <= kMostJudgedTaps
                       ? ErrorOf(channel, row.codes, row.scale)
                       : DiagonalErrorOf(channel, row.codes, row.scale);
        if (row.loss < best.loss) {
          best = std::move(row);
        }
      }
    });
    return rows;
  }

  static ColumnSolver::Row NearestRow(absl::Span<const float> weights, int most, double share) {
    float largest = 0.0f;
    for (const float weight : weights) {
      largest = std::max(largest, std::abs(weight));
    }
    ColumnSolver::Row row;
    row.scale = static_cast<float>(std::max(largest * share / most, 1e-30));
    for (const float weight : weights) {
      row.codes.push_back(static_cast<int8_t>(std::clamp<int64_t>(
          RoundHalfEven(std::clamp(static_cast<double>(weight) / row.scale, -1e6, 1e6)), -most,
          most)));
    }
    return row;
  }

  LoweredNetwork& lowered_;
  const RefinementInput& input_;
  const WeightRefinementOptions& options_;
  ProgressSink& sink_;
  const CancelToken& cancel_;
  std::vector<const LoweredNetwork::LinearLayer*> wanted_;
  std::unique_ptr<LayerwiseRun> run_;
  std::unique_ptr<FloatInputs> float_inputs_;
  std::map<int64_t, RefinedLayer> results_;
};

}  // namespace

absl::StatusOr<std::map<int64_t, RefinedLayer>> RefineWeights(
    LoweredNetwork& lowered, const RefinementInput& input, const WeightRefinementOptions& options,
    ProgressSink& sink, const CancelToken& cancel) {
  return Refinement(lowered, input, options, sink, cancel).Run();
}

}  // namespace qb

#include "core/tuning/auto_tune.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/status_macros.h"
#include "core/quantization/lowering.h"
#include "core/tuning/cycles.h"
#include "core/tuning/held_back.h"
#include "core/tuning/network_score.h"
#include "core/tuning/sensitivity.h"

namespace qb {
namespace {

constexpr size_t kStepsBetweenTrials = 3;
// A step that removes less of the loss than this share is not worth a tensor.
constexpr double kLeastGainShare = 1e-4;
// Steps that are weighed against each other: those with the most gain.
constexpr int kMostWeighed = 24;

struct Candidate {
  const Node* node = nullptr;
  bool weights = false;
  double most_gain = 0.0;
};

// What a set of overrides means, before any calibration of rounding: widths and cost.
struct Layout {
  std::set<int64_t> wide;  // scale sources whose 16 bits some layer reads
  int64_t raised =
      0;  // tensors wider than the settings make them, 4-bit weights raised to 8 included
  int64_t cycles = 0;
};

class Tuner {
 public:
  Tuner(const AutoTuneInput& input, const AutoTuneOptions& options, ProgressSink& sink,
        const CancelToken& cancel)
      : input_(input), options_(options), sink_(sink), cancel_(cancel) {}

  absl::StatusOr<TuneResult> Run() {
    QB_RETURN_IF_ERROR(Prepare());
    if (!Reached(result_.before)) {
      QB_RETURN_IF_ERROR(Search());
    }
    result_.reached = Reached(result_.after);
    QB_ASSIGN_OR_RETURN(layout_, LayoutOf(result_.overrides));
    result_.cycles_after = layout_.cycles;
    result_.raised = layout_.raised;
    return std::move(result_);
  }

 private:
  int threads() const { return input_.quantization.calibration.threads; }
  bool Reached(double value) const { return value >= options_.target; }

  absl::Status Prepare() {
    result_.metric = options_.metric;
    result_.target = options_.target;
    result_.overrides = input_.quantization.overrides;
    QB_ASSIGN_OR_RETURN(
        samples_, HoldBackSamples(input_.dataset, options_.judged_samples, threads(), cancel_));
    QB_ASSIGN_OR_RETURN(table_, CalibrateFor(input_.graph, *samples_.calibration,
                                             input_.quantization, sink_, cancel_));
    sink_.OnStage("tune");
    QB_ASSIGN_OR_RETURN(
        judge_, NetworkJudge::Create(input_.graph, *samples_.held_back, threads(), cancel_));
    QB_ASSIGN_OR_RETURN(QuantizationPlan plan, PlanOf(result_.overrides));
    plan_.emplace(std::move(plan));
    result_.tensors = static_cast<int64_t>(plan_->values().size() + plan_->linear_nodes().size());
    QB_ASSIGN_OR_RETURN(base_, QuantizeWith(result_.overrides));
    QB_ASSIGN_OR_RETURN(result_.before, MetricOf(base_, /*first=*/true));
    result_.after = result_.before;
    QB_ASSIGN_OR_RETURN(layout_, LayoutOf(result_.overrides));
    base_raised_ = layout_.raised;
    result_.cycles_before = layout_.cycles;
    return absl::OkStatus();
  }

  absl::StatusOr<QuantizationPlan> PlanOf(const LayerOverrides& overrides) const {
    return QuantizationPlan::Create(input_.graph, input_.quantization.method, overrides,
                                    input_.quantization.outputs);
  }

  absl::StatusOr<integer::Network> QuantizeWith(const LayerOverrides& overrides) {
    QuantizationOptions options = input_.quantization;
    options.overrides = overrides;
    NullProgressSink quiet;
    QB_ASSIGN_OR_RETURN(
        QuantizedModel model,
        QuantizeCalibrated({input_.graph, table_, *samples_.calibration}, options, quiet, cancel_));
    return std::move(model.network);
  }

  absl::StatusOr<double> MetricOf(const integer::Network& network, bool first = false) {
    QB_ASSIGN_OR_RETURN(const NetworkScore score, judge_->Judge(network, cancel_));
    if (first && result_.metric == TuneMetric::kTop1Agreement && !score.has_classes) {
      sink_.OnLog(LogLevel::kWarning, "autoTune",
                  "no output has a class axis: autoTune.metric cosine takes the place of "
                  "top1Agreement");
      result_.metric = TuneMetric::kCosine;
    }
    switch (result_.metric) {
      case TuneMetric::kSqnr:
        return score.sqnr_db;
      case TuneMetric::kCosine:
        return score.cosine;
      default:
        return score.agreement;
    }
  }

  // Tensors that are raised, whose 16 bits are read, and cycles.
  absl::StatusOr<Layout> LayoutOf(const LayerOverrides& overrides) {
    QB_ASSIGN_OR_RETURN(const QuantizationPlan plan, PlanOf(overrides));
    QB_ASSIGN_OR_RETURN(const LoweredNetwork lowered, Lower(plan, plan.Scales(table_)));
    Layout layout;
    QB_ASSIGN_OR_RETURN(layout.cycles, EstimateCycles(lowered.network, input_.target));
    std::set<std::string> read_wide;
    for (const integer::Layer& layer : lowered.network.layers) {
      for (const int tensor : layer.inputs) {
        const integer::TensorInfo& info = lowered.network.tensors[static_cast<size_t>(tensor)];
        if (info.dtype == DType::kInt16 &&
            !std::holds_alternative<integer::RequantParams>(layer.params)) {
          read_wide.insert(info.name);
        }
      }
    }
    for (const Node* node : plan.values()) {
      if (plan.dtype(node) != DType::kInt16) {
        continue;
      }
      // What has 16 bits with the settings as they are is none that was raised.
      layout.raised += plan_->dtype(node) == DType::kInt16 ? 0 : 1;
      const std::string name =
          node->op() == OpKind::kInput ? absl::StrCat(node->name(), "/codes") : node->name();
      if (read_wide.contains(name)) {
        layout.wide.insert(plan.ScaleSource(node)->id());
      }
    }
    for (const Node* node : plan.linear_nodes()) {
      const int bits = plan.settings().WeightBits(node);
      layout.raised += bits == 16 || bits > plan_->settings().WeightBits(node) ? 1 : 0;
    }
    return layout;
  }

  absl::Status Search() {
    SensitivityOptions options;
    options.samples = options_.sensitivity_samples;
    options.threads = threads();
    options.classes = result_.metric == TuneMetric::kTop1Agreement;
    QB_ASSIGN_OR_RETURN(sensitivities_,
                        MeasureSensitivities({*plan_, base_, table_, *samples_.held_back}, options,
                                             sink_, cancel_));
    FindCandidates();
    TuneResult current = result_;
    while (true) {
      const size_t before = current.choices.size();
      while (current.choices.size() < before + kStepsBetweenTrials) {
        QB_ASSIGN_OR_RETURN(const bool taken, TakeBestStep(current));
        if (!taken) {
          break;
        }
      }
      if (current.choices.size() == before) {
        return absl::OkStatus();
      }
      QB_RETURN_IF_ERROR(Judge(current));
      if (Reached(current.after)) {
        return KeepFewest(current, before);
      }
    }
  }

  // Nodes that a step can name, by falling loss.
  void FindCandidates() {
    double total = 0.0;
    for (const auto* losses : {&sensitivities_.values, &sensitivities_.weights}) {
      for (const auto& [id, loss] : *losses) {
        total += loss;
      }
    }
    const double least = total * kLeastGainShare;
    for (const Node* node : plan_->values()) {
      const auto value = sensitivities_.values.find(node->id());
      const bool named = options_.name_inputs || node->op() != OpKind::kInput;
      if (named && value != sensitivities_.values.end() && value->second > least &&
          WhyNarrow(*node, plan_->closures()).empty()) {
        candidates_.push_back({node, false, value->second});
      }
    }
    for (const Node* node : plan_->linear_nodes()) {
      const auto weights = sensitivities_.weights.find(node->id());
      if (weights != sensitivities_.weights.end() && weights->second > least) {
        candidates_.push_back({node, true, weights->second});
      }
    }
    std::stable_sort(
        candidates_.begin(), candidates_.end(),
        [](const Candidate& a, const Candidate& b) { return a.most_gain > b.most_gain; });
  }

  static bool Contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // The overrides with the step added, or nothing when the layer's own name stands there already.
  std::optional<LayerOverrides> WithStep(const Candidate& step, int bits,
                                         const LayerOverrides& overrides) const {
    const std::string& name = step.node->name();
    LayerOverrides with = overrides;
    if (!step.weights) {
      if (Contains(with.activation16, name)) {
        return std::nullopt;
      }
      with.activation16.push_back(name);
      return with;
    }
    if (Contains(with.weight16, name) || Contains(with.weight8, name) ||
        Contains(with.weight4, name)) {
      return std::nullopt;
    }
    (bits == 16 ? with.weight16 : with.weight8).push_back(name);
    return with;
  }

  int BitsAfter(const Candidate& step) const {
    return step.weights && plan_->settings().WeightBits(step.node) == 4 ? 8 : 16;
  }

  double GainOf(const Candidate& step, const Layout& layout) const {
    double gain = step.weights ? step.most_gain : 0.0;
    for (const int64_t id : layout.wide) {
      const auto found = sensitivities_.values.find(id);
      if (!layout_.wide.contains(id) && found != sensitivities_.values.end()) {
        gain += found->second;
      }
    }
    return gain;
  }

  // The step whose gain is largest for its share of cycles and tensors. False: none is left.
  absl::StatusOr<bool> TakeBestStep(TuneResult& current) {
    const int64_t most =
        base_raised_ +
        static_cast<int64_t>(options_.most_share * static_cast<double>(result_.tensors) + 1e-9);
    double best = 0.0;
    std::optional<Layout> best_layout;
    std::optional<LayerOverrides> best_overrides;
    TuneChoice choice;
    int weighed = 0;
    for (const Candidate& step : candidates_) {
      QB_RETURN_IF_ERROR(cancel_.Check());
      const int bits = BitsAfter(step);
      std::optional<LayerOverrides> overrides = WithStep(step, bits, current.overrides);
      if (!overrides.has_value() || ++weighed > kMostWeighed) {
        continue;
      }
      QB_ASSIGN_OR_RETURN(Layout layout, LayoutOf(*overrides));
      const double gain = GainOf(step, layout);
      const double share = CostOf(layout);
      if (layout.raised > most || gain <= 0.0 || gain / share <= best) {
        continue;
      }
      best = gain / share;
      choice = {step.node->name(),
                step.weights,
                bits,
                gain,
                layout.cycles - layout_.cycles,
                layout.raised - layout_.raised};
      best_layout = std::move(layout);
      best_overrides = std::move(overrides);
    }
    if (!best_layout.has_value()) {
      return false;
    }
    layout_ = *std::move(best_layout);
    current.overrides = *std::move(best_overrides);
    current.choices.push_back(std::move(choice));
    return true;
  }

  // A step down in cycles or one without a new tensor counts as almost free.
  double CostOf(const Layout& layout) const {
    constexpr double kLeast = 1e-3;
    const double cycles = static_cast<double>(layout.cycles - layout_.cycles) /
                          static_cast<double>(std::max<int64_t>(1, layout_.cycles));
    const double tensors = static_cast<double>(layout.raised - layout_.raised) /
                           static_cast<double>(std::max<int64_t>(1, result_.tensors));
    return std::max(kLeast, std::max(0.0, cycles) + tensors);
  }

  // The real network with the steps taken so far. The best one is the result.
  absl::Status Judge(TuneResult& current) {
    QB_ASSIGN_OR_RETURN(const integer::Network network, QuantizeWith(current.overrides));
    QB_ASSIGN_OR_RETURN(current.after, MetricOf(network));
    sink_.OnLog(LogLevel::kInfo, "autoTune",
                absl::StrFormat("%d steps: %s %.5f, target %.5f", current.choices.size(),
                                std::string(TuneMetricName(current.metric)), current.after,
                                current.target));
    if (current.after > result_.after) {
      result_ = current;
    }
    return absl::OkStatus();
  }

  // Of the steps from number `sure` on, as few as the target needs.
  absl::Status KeepFewest(const TuneResult& reached, size_t sure) {
    result_ = reached;
    for (size_t count = sure + 1; count < reached.choices.size(); ++count) {
      TuneResult fewer = reached;
      fewer.choices.resize(count);
      fewer.overrides = OverridesOf(fewer.choices);
      QB_RETURN_IF_ERROR(Judge(fewer));
      if (Reached(fewer.after)) {
        result_ = fewer;
        break;
      }
      result_ = reached;
    }
    return absl::OkStatus();
  }

  LayerOverrides OverridesOf(const std::vector<TuneChoice>& choices) const {
    LayerOverrides overrides = input_.quantization.overrides;
    for (const TuneChoice& choice : choices) {
      (!choice.weights ? overrides.activation16
                       : (choice.bits == 16 ? overrides.weight16 : overrides.weight8))
          .push_back(choice.layer);
    }
    return overrides;
  }

  const AutoTuneInput& input_;
  const AutoTuneOptions& options_;
  ProgressSink& sink_;
  const CancelToken& cancel_;
  HeldBackSamples samples_;
  CalibrationTable table_;
  std::unique_ptr<NetworkJudge> judge_;
  std::optional<QuantizationPlan> plan_;  // with the overrides given
  integer::Network base_;
  Sensitivities sensitivities_;
  std::vector<Candidate> candidates_;
  Layout layout_;  // of the steps taken so far
  int64_t base_raised_ = 0;
  TuneResult result_;
};

}  // namespace

absl::StatusOr<TuneResult> AutoTune(const AutoTuneInput& input, const AutoTuneOptions& options,
                                    ProgressSink& sink, const CancelToken& cancel) {
  return Tuner(input, options, sink, cancel).Run();
}

}  // namespace qb

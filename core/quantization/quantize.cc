#include "core/quantization/quantize.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/calibration/sample_choice.h"
#include "core/integer/validate.h"
#include "core/ops/op_def.h"
#include "core/quantization/bias_correction.h"
#include "core/quantization/kept_correction.h"
#include "core/quantization/layer_selection.h"
#include "core/quantization/lowering.h"

namespace qb {
namespace {

// How many samples bias correction may hold at once.
int64_t CorrectionSamples(const QuantizationPlan& plan, const QuantizationOptions& options) {
  if (!options.bias_correction.apply) {
    return 0;
  }
  const int64_t live = std::max<int64_t>(1, plan.LargestLiveBytes());
  return std::clamp<int64_t>(options.bias_correction.most_bytes / live, 1,
                             options.bias_correction.samples);
}

absl::Status CheckLayerNames(const QuantizationPlan& plan, const std::vector<std::string>& patterns,
                             absl::string_view key) {
  for (const std::string& pattern : patterns) {
    const bool found =
        std::any_of(plan.linear_nodes().begin(), plan.linear_nodes().end(),
                    [&](const Node* node) { return MatchesLayer(pattern, node->name()); });
    if (!found) {
      std::vector<std::string> names;
      for (const Node* node : plan.linear_nodes()) {
        if (names.size() < 8) {
          names.push_back(absl::StrCat("'", node->name(), "'"));
        }
      }
      return Failure(FailureCode::kArgumentError,
                     absl::StrCat("biasCorrection.attributes.", key, ": '", pattern,
                                  "' matches no layer with weights; layers begin with ",
                                  absl::StrJoin(names, ", ")));
    }
  }
  return absl::OkStatus();
}

// What came after lowering, by node id.
struct Changes {
  std::map<int64_t, RefinedLayer> refined;
  std::map<int64_t, double> shifts;
  std::map<int64_t, double> trained;
};

// What one layer is held and computed with.
LayerReport FormatOf(const QuantizationPlan& plan, const Node* node, const ValueScale& scale,
                     const integer::ConvParams* linear) {
  LayerReport report;
  report.name = node->name();
  report.op =
      plan.closures().SourceOf(node) != nullptr ? "Lookup" : std::string(OpDefOf(node->op()).name);
  report.activation_bits = scale.dtype == DType::kInt16 ? 16 : 8;
  report.scale = scale.scale;
  report.zero_point = scale.zero_point;
  report.threshold = scale.threshold;
  report.largest_seen = scale.largest_seen;
  report.saturation_share = scale.saturation_share;
  if (linear != nullptr) {
    const std::vector<float>& weight_scales = linear->weight_scales;
    const auto [low, high] = std::minmax_element(weight_scales.begin(), weight_scales.end());
    report.weight_bits = linear->weight_bits;
    report.smallest_weight_scale = weight_scales.empty() ? 0.0f : *low;
    report.largest_weight_scale = weight_scales.empty() ? 0.0f : *high;
  }
  return report;
}

std::vector<LayerReport> Report(const QuantizationPlan& plan, const ValueScales& scales,
                                const LoweredNetwork& lowered, const Changes& changes) {
  std::map<int64_t, const integer::ConvParams*> linear;
  for (const LoweredNetwork::LinearLayer& layer : lowered.linear_layers) {
    linear[layer.node->id()] = &ConvOf(lowered.network.layers[layer.layer]);
  }
  std::vector<LayerReport> reports;
  for (const Node* node : plan.values()) {
    const auto layer = linear.find(node->id());
    LayerReport report =
        FormatOf(plan, node, scales.held.at(node), layer == linear.end() ? nullptr : layer->second);
    if (const auto found = changes.shifts.find(node->id()); found != changes.shifts.end()) {
      report.largest_bias_shift = found->second;
    }
    if (const auto found = changes.refined.find(node->id()); found != changes.refined.end()) {
      report.refined_error_share = found->second.error_share;
      report.note = found->second.note;
    }
    if (const auto found = changes.trained.find(node->id()); found != changes.trained.end()) {
      report.trained_loss_share = found->second;
    }
    const auto& notes = plan.settings().notes;
    if (const auto found = notes.find(node); found != notes.end()) {
      report.note = found->second;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

// Calibration, or what an earlier one found.
absl::StatusOr<CalibrationTable> Measure(const CalibrationInput& input,
                                         const QuantizationOptions& options, ProgressSink& sink,
                                         const CancelToken& cancel) {
  const auto& [loaded, saved] = options.statistics;
  CalibrationTable table;
  if (loaded == nullptr) {
    QB_ASSIGN_OR_RETURN(table, Calibrate(input, options.calibration, sink, cancel));
  } else {
    QB_ASSIGN_OR_RETURN(table, TableOf(*loaded, input.request, options.calibration));
    if (!table.windows.empty()) {
      QB_ASSIGN_OR_RETURN(table.window_samples,
                          ChooseSamples(input.dataset, input.request.window_samples,
                                        options.calibration.threads, cancel));
    }
    sink.OnLog(LogLevel::kInfo, "calibration",
               absl::StrCat("statistics of ", table.samples, " samples are those of the file"));
  }
  if (saved != nullptr) {
    KeepTable(input.request, options.calibration, table, *saved);
    if (loaded != nullptr) {
      saved->corrections = loaded->corrections;
    }
  }
  return table;
}

// Bias correction, or what an earlier one of the same network found. Returns the shifts.
absl::StatusOr<std::map<int64_t, double>> Correct(LoweredNetwork& lowered,
                                                  const CorrectionInput& input,
                                                  const QuantizationOptions& options,
                                                  ProgressSink& sink, const CancelToken& cancel) {
  BiasCorrectionOptions correction;
  correction.apply_layers = options.bias_correction.apply_layers;
  correction.exclude_layers = options.bias_correction.exclude_layers;
  correction.threads = options.calibration.threads;
  const auto& [loaded, saved] = options.statistics;
  if (loaded == nullptr && saved == nullptr) {
    return CorrectBiases(lowered, input, correction, sink, cancel);
  }
  std::string key =
      CorrectionKey(lowered, correction, static_cast<int64_t>(input.table.window_samples.size()));
  const KeptCorrection* kept = FindCorrection(loaded, key);
  if (kept != nullptr) {
    return PutBackCorrection(*kept, lowered);
  }
  if (loaded != nullptr) {
    sink.OnLog(LogLevel::kInfo, "calibration",
               "the file has no bias correction of this network: it is made anew");
  }
  QB_ASSIGN_OR_RETURN(auto shifts, CorrectBiases(lowered, input, correction, sink, cancel));
  if (saved != nullptr) {
    saved->corrections.push_back(KeepCorrection(std::move(key), lowered, shifts));
  }
  return shifts;
}

}  // namespace

absl::StatusOr<CalibrationTable> CalibrateFor(const Graph& graph, const Dataset& dataset,
                                              const QuantizationOptions& options,
                                              ProgressSink& sink, const CancelToken& cancel) {
  QB_ASSIGN_OR_RETURN(
      const QuantizationPlan plan,
      QuantizationPlan::Create(graph, options.method, options.overrides, options.outputs));
  QB_RETURN_IF_ERROR(CheckLayerNames(plan, options.bias_correction.apply_layers, "applyLayers"));
  QB_RETURN_IF_ERROR(
      CheckLayerNames(plan, options.bias_correction.exclude_layers, "excludeLayers"));
  QB_ASSIGN_OR_RETURN(CalibrationRequest request, plan.Request(CorrectionSamples(plan, options)));
  if (options.refinement.apply()) {
    // Refinement judges weights by the moments of codes with one step for all channels. What leaves
    // the model is no layer's input.
    request.channels = plan.channel_writers();
  }
  sink.OnStage("calibrate");
  return Measure({graph, dataset, request}, options, sink, cancel);
}

absl::StatusOr<QuantizedModel> QuantizeCalibrated(const CalibratedGraph& calibrated,
                                                  const QuantizationOptions& options,
                                                  ProgressSink& sink, const CancelToken& cancel) {
  const CalibrationTable& table = calibrated.table;
  QB_ASSIGN_OR_RETURN(const QuantizationPlan plan,
                      QuantizationPlan::Create(calibrated.graph, options.method, options.overrides,
                                               options.outputs));
  sink.OnStage("quantize");
  const ValueScales scales = plan.Scales(table);
  QB_ASSIGN_OR_RETURN(LoweredNetwork lowered, Lower(plan, scales));
  QB_RETURN_IF_ERROR(integer::ValidateNetwork(lowered.network));
  Changes changes;
  if (options.refinement.apply()) {
    sink.OnStage("refine");
    WeightRefinementOptions refinement = options.refinement;
    refinement.threads = options.calibration.threads;
    QB_ASSIGN_OR_RETURN(changes.refined, RefineWeights(lowered, {plan, calibrated.dataset},
                                                       refinement, sink, cancel));
  }
  if (options.bias_correction.apply) {
    sink.OnStage("correct");
    QB_ASSIGN_OR_RETURN(changes.shifts,
                        Correct(lowered, {table, calibrated.dataset}, options, sink, cancel));
  }
  if (options.training.apply) {
    sink.OnStage("train");
    ScaleTrainingOptions training = options.training;
    training.threads = options.calibration.threads;
    QB_ASSIGN_OR_RETURN(changes.trained,
                        TrainScales(lowered, {plan, calibrated.dataset}, training, sink, cancel));
    QB_RETURN_IF_ERROR(integer::ValidateNetwork(lowered.network));
  }
  QuantizedModel model;
  model.layers = Report(plan, scales, lowered, changes);
  model.network = std::move(lowered.network);
  model.calibration_samples = table.samples;
  model.bias_correction_samples = static_cast<int64_t>(table.window_samples.size());
  return model;
}

absl::StatusOr<QuantizedModel> Quantize(const Graph& graph, const Dataset& dataset,
                                        const QuantizationOptions& options, ProgressSink& sink,
                                        const CancelToken& cancel) {
  QB_ASSIGN_OR_RETURN(const CalibrationTable table,
                      CalibrateFor(graph, dataset, options, sink, cancel));
  return QuantizeCalibrated({graph, table, dataset}, options, sink, cancel);
}

}  // namespace qb

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/config/compile_config.h"
#include "core/dataset/labels.h"
#include "core/evaluate/culprits.h"
#include "core/evaluate/evaluation.h"
#include "core/evaluate/finished_model.h"
#include "core/evaluate/input_bytes.h"
#include "core/evaluate/layer_evaluation.h"
#include "core/evaluate/report_html.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"
#include "worker/qbcompiler/commands/model_choice.h"

namespace qb::worker {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    kModelFlag,
    kMxqFlag,
    kDataFlag,
    kPreprocessingFlag,
    kPresetFlag,
    kConfigFlag,
    {"labels", 0, FlagKind::kValue, "FILE",
     "CSV with the columns sample,label (class index, class name, or text)"},
    {"metric", 0, FlagKind::kValue, "NAME",
     "the figure to name: top1, top5 (with --labels), ctc (with --labels and --classes), "
     "agreement, sqnr, cosine, or boxes: how many boxes of a float detector are found again"},
    {"classes", 0, FlagKind::kValue, "FILE",
     "class names, one a line; for ctc the characters, the blank left out"},
    {"report", 0, FlagKind::kValue, "FILE", "write an HTML page"},
    {"json", 0, FlagKind::kValue, "FILE", "write the figures as JSON; '-' is stdout"},
    {"max-samples", 0, FlagKind::kValue, "N", "only the first N samples"},
    {"per-layer", 0, FlagKind::kSwitch, "",
     "also each layer: what it loses on its own (single) and what is lost up to there (entire)"},
    kCoreModeFlag,
    kShapeFlag,
    kThreadsFlag,
});

std::string Table(const Evaluation& evaluation) {
  std::string text = absl::StrFormat("%d samples\n%-28s %10s %10s %12s\n", evaluation.samples,
                                     "output", "SQNR dB", "cosine", "agreement");
  for (const OutputMetrics& output : evaluation.outputs) {
    const std::string agreement =
        output.agreement.has_value() ? absl::StrFormat("%.2f %%", *output.agreement * 100) : "-";
    absl::StrAppendFormat(&text, "%-28s %10.2f %10.6f %12s\n", output.name, output.sqnr_db,
                          output.cosine, agreement);
  }
  if (evaluation.box_recall.has_value()) {
    absl::StrAppendFormat(&text, "%d of %d boxes of the float model found again\n",
                          evaluation.box_recall->found, evaluation.box_recall->boxes);
  }
  if (evaluation.accuracy.has_value()) {
    const Accuracy& accuracy = *evaluation.accuracy;
    absl::StrAppendFormat(&text, "%-28s %10s %10s   (%d labelled)\n", "accuracy", "float",
                          "quantized", accuracy.labelled);
    if (accuracy.float_sequence.has_value()) {
      absl::StrAppendFormat(&text, "%-28s %8.2f %% %8.2f %%\n", "read without error",
                            *accuracy.float_sequence * 100,
                            accuracy.quantized_sequence.value_or(0.0) * 100);
      return text;
    }
    absl::StrAppendFormat(&text, "%-28s %8.2f %% %8.2f %%\n", "top-1", accuracy.float_top1 * 100,
                          accuracy.quantized_top1 * 100);
    absl::StrAppendFormat(&text, "%-28s %8.2f %% %8.2f %%\n", "top-5", accuracy.float_top5 * 100,
                          accuracy.quantized_top5 * 100);
  }
  return text;
}

constexpr auto kMetrics = std::to_array<absl::string_view>(
    {"top1", "top5", "ctc", "agreement", "sqnr", "cosine", "boxes"});

absl::StatusOr<std::vector<std::string>> ReadClasses(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) {
    return WithFailureCode(text.status(), FailureCode::kArgumentError);
  }
  std::vector<std::string> classes = absl::StrSplit(*text, '\n');
  for (std::string& name : classes) {
    if (!name.empty() && name.back() == '\r') {
      name.pop_back();
    }
  }
  while (!classes.empty() && classes.back().empty()) {
    classes.pop_back();
  }
  return classes;
}

// What --metric, --labels and --classes say, into `options`; the labels stay in `labels`.
absl::Status ReadMetric(const ParsedFlags& flags, std::optional<Labels>& labels,
                        EvaluationOptions& options) {
  const std::string metric = flags.Get("metric");
  if (!metric.empty() && std::find(kMetrics.begin(), kMetrics.end(), metric) == kMetrics.end()) {
    return Failure(FailureCode::kArgumentError, absl::StrCat("--metric ", metric, ": it is one of ",
                                                             absl::StrJoin(kMetrics, ", ")));
  }
  if (flags.Has("labels")) {
    QB_ASSIGN_OR_RETURN(labels, ReadLabels(flags.Get("labels")));
    options.labels = &*labels;
  }
  if (flags.Has("classes")) {
    QB_ASSIGN_OR_RETURN(options.classes, ReadClasses(flags.Get("classes")));
  }
  const bool text = metric == "ctc";
  if ((text || metric == "top1" || metric == "top5") && !labels.has_value()) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("--metric ", metric, " needs --labels"));
  }
  if (text && options.classes.empty()) {
    return Failure(FailureCode::kArgumentError, "--metric ctc needs --classes with the characters");
  }
  options.count_boxes = metric == "boxes";
  options.label_metric = text ? LabelMetric::kCtc : LabelMetric::kTopK;
  return absl::OkStatus();
}

// {name, float, quantized} of a metric with labels, {name, value} of one without: of the worst
// output.
Json MetricOf(const std::string& metric, const Json& evaluation) {
  Json json = Json::Object().Set("name", metric);
  if (metric == "top1" || metric == "top5" || metric == "ctc") {
    const std::string key = metric == "ctc" ? "sequence_accuracy" : metric;
    return json.Set("float", evaluation[absl::StrCat("float_", key)])
        .Set("quantized", evaluation[absl::StrCat("quantized_", key)]);
  }
  if (metric == "boxes") {
    return json.Set("value", evaluation["boxes"]["recall"]);
  }
  Json worst;
  for (const Json& output : evaluation["outputs"].items()) {
    const Json& value = output[metric == "sqnr" ? "sqnr_db" : metric];
    if (value.is_number() && (!worst.is_number() || value.as_double() < worst.as_double())) {
      worst = value;
    }
  }
  return json.Set("value", worst);
}

std::string MetricLine(const Json& metric) {
  std::string text = absl::StrCat("metric ", metric["name"].as_string(), ":");
  for (const auto& [key, value] : metric.members()) {
    if (key != "name") {
      absl::StrAppend(&text, " ", key, " ",
                      value.is_number() ? absl::StrFormat("%.4f", value.as_double()) : "-");
    }
  }
  return text + "\n";
}

// Worst first, as many as a screen holds.
std::string LayerTable(std::vector<LayerMetrics> layers) {
  constexpr size_t kRows = 25;
  std::stable_sort(layers.begin(), layers.end(), [](const LayerMetrics& a, const LayerMetrics& b) {
    return a.sqnr_db < b.sqnr_db;
  });
  std::string text =
      absl::StrFormat("\n%-40s %-20s %4s %5s %10s %10s %10s\n", "layer, worst first", "op", "bits",
                      "used", "single dB", "cosine", "entire dB");
  for (size_t i = 0; i < std::min(kRows, layers.size()); ++i) {
    const LayerMetrics& layer = layers[i];
    const std::string used =
        layer.effective_bits.has_value() ? absl::StrFormat("%.1f", *layer.effective_bits) : "-";
    absl::StrAppendFormat(&text, "%-40s %-20s %4d %5s %10.2f %10.6f %10.2f\n", layer.name, layer.op,
                          layer.activation_bits, used, layer.sqnr_db, layer.cosine,
                          layer.entire_sqnr_db);
  }
  if (layers.size() > kRows) {
    absl::StrAppendFormat(&text, "... and %d more (--json or --report has all)\n",
                          layers.size() - kRows);
  }
  return text;
}

// What the worst layers suffer from, and what helps.
std::string CulpritTable(const std::vector<Culprit>& culprits) {
  constexpr size_t kRows = 8;
  std::string text = "\nmost of the noise comes from\n";
  for (size_t i = 0; i < std::min(kRows, culprits.size()); ++i) {
    const Culprit& culprit = culprits[i];
    absl::StrAppendFormat(&text, "%5.1f %%  %s: %s\n", culprit.noise_share * 100, culprit.layer,
                          culprit.reason);
    if (!culprit.setting.empty()) {
      absl::StrAppend(&text, "         try ", culprit.setting, ": ", culprit.value.Dump(), "\n");
    }
  }
  return culprits.empty() ? "" : text;
}

void AddLayers(const std::vector<LayerMetrics>& layers, const std::vector<Culprit>& culprits,
               Json& json) {
  Json rows = Json::Array(), ranking = Json::Array();
  for (const LayerMetrics& layer : layers) {
    rows.Append(layer.ToJson());
  }
  for (const Culprit& culprit : culprits) {
    ranking.Append(culprit.ToJson());
  }
  json.Set("layers", std::move(rows))
      .Set("culprits", std::move(ranking))
      .Set("suggested_settings", SuggestedSettings(culprits));
}

absl::Status WriteReport(const ParsedFlags& flags, const OpenedModel& executable,
                         const Json& json) {
  const std::string path = flags.Get("report");
  if (path.empty()) {
    return absl::OkStatus();
  }
  HtmlReportInput input;
  input.title = std::filesystem::path(flags.Get("mxq")).filename().string();
  input.target = executable.mxq->manifest()["target"].as_string();
  input.evaluation = json;
  if (!json["suggested_settings"].members().empty()) {
    input.settings_yaml = JsonToYaml(json["suggested_settings"]);
  }
  input.layers = executable.mxq->report()["layers"];
  return WithFailureCode(WriteFileAtomically(path, HtmlReport(input)),
                         FailureCode::kOutputWriteError);
}

absl::Status Answer(CommandContext& context, const std::string& table, const Json& json) {
  const std::string path = context.flags.Get("json");
  if (!path.empty() && path != "-") {
    QB_RETURN_IF_ERROR(WithFailureCode(WriteFileAtomically(path, json.Dump(2) + "\n"),
                                       FailureCode::kOutputWriteError));
  }
  context.reporter.Result(Json::Object().Set("report", json),
                          path == "-" ? json.Dump(2) + "\n" : table);
  return absl::OkStatus();
}

// Two models and the samples that both run.
struct Comparison {
  OpenedModel reference, executable;
  FoldedInputs folded;
  std::unique_ptr<Dataset> dataset;  // of samples as the executable takes them
  bool per_layer = false;
};

absl::StatusOr<Comparison> OpenComparison(CommandContext& context, int threads) {
  const ParsedFlags& flags = context.flags;
  Comparison comparison;
  QB_ASSIGN_OR_RETURN(const std::string model_path, Required(flags, "model"));
  QB_ASSIGN_OR_RETURN(const std::string mxq_path, Required(flags, "mxq"));
  QB_ASSIGN_OR_RETURN(const std::string data, Required(flags, "data"));
  QB_ASSIGN_OR_RETURN(comparison.reference, OpenFloatModel(model_path, flags, threads));
  QB_ASSIGN_OR_RETURN(comparison.executable,
                      OpenExecutable(mxq_path, flags.Get("core-mode"), threads, data));
  comparison.per_layer = flags.Has("per-layer");
  if (comparison.per_layer && comparison.executable.network == nullptr) {
    return Failure(FailureCode::kArgumentError,
                   "--per-layer goes with an executable that is one NPU program; this one has CPU "
                   "parts");
  }
  const std::vector<InputSpec>& inputs = comparison.reference.inputs;
  const MxqFile& mxq = *comparison.executable.mxq;
  QB_ASSIGN_OR_RETURN(comparison.folded, ExecutableFolds(mxq, inputs));
  QB_ASSIGN_OR_RETURN(const DatasetOptions preparation,
                      DataOptions(context, &mxq, inputs, threads));
  context.reporter.Plan({{"samples", 0.1},
                         {"evaluate", comparison.per_layer ? 0.3 : 0.9},
                         {"layers", comparison.per_layer ? 0.6 : 0.0}});
  context.reporter.OnStage("samples");
  QB_ASSIGN_OR_RETURN(comparison.dataset,
                      OpenDataset(data, comparison.folded.taken(), preparation, context.reporter));
  return comparison;
}

// Adds the figures of each layer to `json` and returns their table.
absl::StatusOr<std::string> JudgeLayers(CommandContext& context, const Comparison& comparison,
                                        const EvaluationOptions& options, Json& json) {
  context.reporter.OnStage("layers");
  const MxqFile& mxq = *comparison.executable.mxq;
  const Graph& graph = *comparison.reference.graph;
  QB_ASSIGN_OR_RETURN(std::vector<LayerMetrics> layers,
                      EvaluateLayers({graph, *comparison.executable.network}, *comparison.dataset,
                                     {options.threads, options.max_samples,
                                      BytesOfInputs(mxq.manifest()["inputs"]), &comparison.folded},
                                     context.reporter, context.cancel));
  AddLayerFacts(graph, mxq.report()["layers"], layers);
  const std::vector<Culprit> culprits = FindCulprits(layers);
  AddLayers(layers, culprits, json);
  return absl::StrCat(LayerTable(layers), CulpritTable(culprits));
}

absl::Status Run(CommandContext& context) {
  const ParsedFlags& flags = context.flags;
  EvaluationOptions options;
  QB_ASSIGN_OR_RETURN(options.threads, ThreadCount(flags, 0));
  QB_ASSIGN_OR_RETURN(options.max_samples, flags.GetInt("max-samples", 0, 1, 1 << 30));
  std::optional<Labels> labels;
  QB_RETURN_IF_ERROR(ReadMetric(flags, labels, options));
  QB_ASSIGN_OR_RETURN(const Comparison comparison, OpenComparison(context, options.threads));
  for (const InputSpec& output : comparison.reference.outputs) {
    options.output_names.push_back(output.name);
  }
  context.reporter.OnStage("evaluate");
  const FinishedModel finished(*comparison.reference.model, comparison.folded);
  QB_ASSIGN_OR_RETURN(const Evaluation evaluation,
                      Evaluate({finished, *comparison.executable.model}, *comparison.dataset,
                               options, context.reporter, context.cancel));
  Json json = evaluation.ToJson();
  std::string table = Table(evaluation);
  if (flags.Has("metric")) {
    json.Set("metric", MetricOf(flags.Get("metric"), json));
    absl::StrAppend(&table, MetricLine(json["metric"]));
  }
  if (comparison.per_layer) {
    QB_ASSIGN_OR_RETURN(const std::string layers, JudgeLayers(context, comparison, options, json));
    absl::StrAppend(&table, layers);
  }
  QB_RETURN_IF_ERROR(WriteReport(flags, comparison.executable, json));
  return Answer(context, table, json);
}

}  // namespace

const Command& EvaluateCommand() {
  static constexpr Command kCommand = {
      "evaluate", "float model against .mxq",
      "Runs both models on the same samples and prints how close they are: SQNR, cosine and "
      "agreement of each output and, with labels, top-1 and top-5 of both. With --per-layer also "
      "where the accuracy goes. Example: qbcompiler evaluate --model m.onnx --mxq m.mxq --data "
      "samples/ --report report.html",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker

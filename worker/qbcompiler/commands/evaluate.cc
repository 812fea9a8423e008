#include <array>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/dataset/labels.h"
#include "core/evaluate/evaluation.h"
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
    {"labels", 0, FlagKind::kValue, "FILE", "CSV with the columns sample,label (class index)"},
    {"report", 0, FlagKind::kValue, "FILE", "write an HTML page"},
    {"json", 0, FlagKind::kValue, "FILE", "write the figures as JSON; '-' is stdout"},
    {"max-samples", 0, FlagKind::kValue, "N", "only the first N samples"},
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
  if (evaluation.accuracy.has_value()) {
    const Accuracy& accuracy = *evaluation.accuracy;
    absl::StrAppendFormat(&text, "%-28s %10s %10s   (%d labelled)\n", "accuracy", "float",
                          "quantized", accuracy.labelled);
    absl::StrAppendFormat(&text, "%-28s %8.2f %% %8.2f %%\n", "top-1", accuracy.float_top1 * 100,
                          accuracy.quantized_top1 * 100);
    absl::StrAppendFormat(&text, "%-28s %8.2f %% %8.2f %%\n", "top-5", accuracy.float_top5 * 100,
                          accuracy.quantized_top5 * 100);
  }
  return text;
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
  input.layers = executable.mxq->report()["layers"];
  return WithFailureCode(WriteFileAtomically(path, HtmlReport(input)),
                         FailureCode::kOutputWriteError);
}

absl::Status Answer(CommandContext& context, const Evaluation& evaluation, const Json& json) {
  const std::string path = context.flags.Get("json");
  if (!path.empty() && path != "-") {
    QB_RETURN_IF_ERROR(WithFailureCode(WriteFileAtomically(path, json.Dump(2) + "\n"),
                                       FailureCode::kOutputWriteError));
  }
  context.reporter.Result(Json::Object().Set("report", json),
                          path == "-" ? json.Dump(2) + "\n" : Table(evaluation));
  return absl::OkStatus();
}

absl::Status Run(CommandContext& context) {
  const ParsedFlags& flags = context.flags;
  QB_ASSIGN_OR_RETURN(const int threads, ThreadCount(flags, 0));
  QB_ASSIGN_OR_RETURN(const std::string model_path, Required(flags, "model"));
  QB_ASSIGN_OR_RETURN(const std::string mxq_path, Required(flags, "mxq"));
  QB_ASSIGN_OR_RETURN(const std::string data, Required(flags, "data"));
  EvaluationOptions options;
  QB_ASSIGN_OR_RETURN(options.max_samples, flags.GetInt("max-samples", 0, 1, 1 << 30));
  std::optional<Labels> labels;
  if (flags.Has("labels")) {
    QB_ASSIGN_OR_RETURN(labels, ReadLabels(flags.Get("labels")));
    options.labels = &*labels;
  }
  QB_ASSIGN_OR_RETURN(const OpenedModel reference, OpenFloatModel(model_path, flags, threads));
  QB_ASSIGN_OR_RETURN(const OpenedModel executable,
                      OpenExecutable(mxq_path, flags.Get("core-mode"), threads));
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset,
                      OpenDataset(data, reference.inputs, context.reporter));
  options.threads = threads;
  for (const InputSpec& output : reference.outputs) {
    options.output_names.push_back(output.name);
  }
  context.reporter.Plan({{"evaluate", 1.0}});
  context.reporter.OnStage("evaluate");
  QB_ASSIGN_OR_RETURN(const Evaluation evaluation,
                      Evaluate(*reference.model, *executable.model, *dataset, options,
                               context.reporter, context.cancel));
  const Json json = evaluation.ToJson();
  QB_RETURN_IF_ERROR(WriteReport(flags, executable, json));
  return Answer(context, evaluation, json);
}

}  // namespace

const Command& EvaluateCommand() {
  static constexpr Command kCommand = {
      "evaluate", "float model against .mxq",
      "Runs both models on the same samples and prints how close they are: SQNR, cosine and "
      "agreement of each output and, with labels, top-1 and top-5 of both. Example: qbcompiler "
      "evaluate --model m.onnx --mxq m.mxq --data samples/ --report report.html",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/compiler/calibration_check.h"
#include "core/compiler/load_model.h"
#include "core/compiler/placement.h"
#include "core/compiler/reports.h"
#include "core/frontends/all_frontends.h"
#include "core/passes/pipeline.h"
#include "core/target/support.h"
#include "core/target/target_spec.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"
#include "worker/qbcompiler/commands/model_choice.h"

namespace qb::worker {
namespace {

constexpr auto kFlags =
    std::to_array<FlagDef>({kModelFlag,
                            kBackendFlag,
                            kTargetFlag,
                            kOffloadFlag,
                            kPresetFlag,
                            kConfigFlag,
                            kShapeFlag,
                            kCalibFlag,
                            kThreadsFlag,
                            {"json", 0, FlagKind::kSwitch, "", "JSON instead of a table"}});

std::string Table(const Json& layers) {
  std::string text =
      absl::StrFormat("%-32s %-22s %-20s %-4s %s\n", "layer", "op", "shape", "on", "reason");
  for (const Json& row : layers.items()) {
    std::vector<std::string> reasons;
    for (const Json& reason : row["reasons"].items()) {
      reasons.push_back(reason.as_string());
    }
    absl::StrAppendFormat(&text, "%-32s %-22s %-20s %-4s %s\n", row["name"].as_string(),
                          row["op"].as_string(), row["shape"].as_string(),
                          reasons.empty() ? "NPU" : "CPU", absl::StrJoin(reasons, "; "));
  }
  return text;
}

// What a person reads about a calibration set.
std::string CalibrationText(const Json& report) {
  std::string text = absl::StrFormat("%d calibration samples\n", report["samples"].as_int());
  for (const Json& input : report["inputs"].items()) {
    absl::StrAppendFormat(&text, "input %s %s: %g to %g\n", input["name"].as_string(),
                          input["type"].as_string(), input["min"].as_double(),
                          input["max"].as_double());
    const std::vector<Json>& channels = input["channels"].items();
    for (size_t c = 0; c < channels.size(); ++c) {
      absl::StrAppendFormat(&text, "  channel %d: mean %.6g, deviation %.6g\n", c,
                            channels[c]["mean"].as_double(), channels[c]["deviation"].as_double());
    }
  }
  return text;
}

// Reads every sample of --calib-data-path as a compile would.
absl::StatusOr<Json> CheckCalibration(CommandContext& context, const Graph& graph) {
  const std::vector<std::string> paths = context.flags.GetAll("calib-data-path");
  if (paths.size() > 1) {
    return Failure(FailureCode::kArgumentError,
                   "--calib-data-path: one set can be checked at once");
  }
  const std::vector<InputSpec> inputs = InputSpecsOf(graph);
  QB_ASSIGN_OR_RETURN(const int threads, ThreadCount(context.flags, 0));
  QB_ASSIGN_OR_RETURN(const DatasetOptions options, DataOptions(context, nullptr, inputs, threads));
  context.reporter.OnStage("samples");
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset,
                      OpenDataset(paths[0], inputs, options, context.reporter));
  QB_ASSIGN_OR_RETURN(Json report, CheckCalibrationSet(*dataset, inputs, options, context.cancel));
  for (const Json& warning : report["warnings"].items()) {
    context.reporter.OnLog(LogLevel::kWarning, "dataset", warning.as_string());
  }
  return report;
}

absl::StatusOr<Graph> SimplifiedGraph(const ParsedFlags& flags) {
  QB_ASSIGN_OR_RETURN(const std::string path, Required(flags, "model"));
  ImportOptions options;
  QB_ASSIGN_OR_RETURN(options.input_shapes, InputShapes(flags));
  const std::string backend = flags.Has("backend") ? flags.Get("backend") : "onnx";
  QB_ASSIGN_OR_RETURN(ImportedModel model, ImportModel(backend, path, options));
  QB_RETURN_IF_ERROR(RunPasses(model.graph, PassOptions{}));
  return std::move(model.graph);
}

absl::Status Run(CommandContext& context) {
  QB_RETURN_IF_ERROR(Required(context.flags, "model").status());
  QB_ASSIGN_OR_RETURN(const std::string target_name, RequiredTarget(context.flags));
  QB_ASSIGN_OR_RETURN(const TargetSpec* target, FindTarget(target_name));
  QB_ASSIGN_OR_RETURN(const CompileConfig config, ResolveConfig(context.flags, context.reporter));
  QB_ASSIGN_OR_RETURN(const Graph graph, SimplifiedGraph(context.flags));
  const absl::StatusOr<Placement> placement = PlaceGraph(graph, *target, config);
  const Json layers =
      SupportSummary(placement.ok() ? placement->support : CheckSupport(graph, *target));
  Json parts = Json::Array();
  std::string text = Table(layers);
  if (placement.ok() && placement->partition.has_value()) {
    parts = PartitionJson(*placement->partition);
    absl::StrAppend(&text, "\n", PartitionText(*placement->partition));
  }
  if (context.flags.Has("json")) {
    text = (placement.ok() && placement->partition.has_value()
                ? Json::Object().Set("layers", layers).Set("parts", parts)
                : layers)
               .Dump(2) +
           "\n";
  }
  if (!placement.ok()) {
    context.reporter.Print(text);
    return placement.status();
  }
  Json result =
      Json::Object().Set("target", target->name).Set("layers", layers).Set("parts", parts);
  if (context.flags.Has("calib-data-path")) {
    QB_ASSIGN_OR_RETURN(const Json calibration, CheckCalibration(context, graph));
    result.Set("calibration", calibration);
    text = context.flags.Has("json") ? result.Dump(2) + "\n"
                                     : absl::StrCat(text, "\n", CalibrationText(calibration));
  }
  context.reporter.Result(result, text);
  return absl::OkStatus();
}

}  // namespace

const Command& ValidateCommand() {
  static constexpr Command kCommand = {
      "validate", "can this model be compiled for this target",
      "Imports and simplifies a model and lists for each layer whether the NPU runs it, with the "
      "reasons where it does not. Exits with 1 when there are such layers. With --cpu-offload it "
      "shows how the layers are divided between CPU and NPU and what crosses the borders, and "
      "exits "
      "with 1 when that is not possible either. With --calib-data-path every sample "
      "is read and prepared as a compile would, and count, ranges, means and what looks wrong are "
      "printed. Only --backend onnx exists so far. Example: "
      "qbcompiler validate --model m.onnx --target-device regulus-ra",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker

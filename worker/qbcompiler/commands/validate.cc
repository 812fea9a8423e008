#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "core/compiler/placement.h"
#include "core/compiler/reports.h"
#include "core/frontends/all_frontends.h"
#include "core/passes/pipeline.h"
#include "core/target/support.h"
#include "core/target/target_spec.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"

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
  context.reporter.Result(
      Json::Object().Set("target", target->name).Set("layers", layers).Set("parts", parts), text);
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
      "with 1 when that is not possible either. Only --backend onnx exists so far. Example: "
      "qbcompiler validate --model m.onnx --target-device regulus-ra",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
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
                            kShapeFlag,
                            {"json", 0, FlagKind::kSwitch, "", "JSON instead of a table"}});

std::string Table(const Json& layers) {
  std::string text = absl::StrFormat("%-32s %-22s %-4s %s\n", "layer", "op", "NPU", "reason");
  for (const Json& row : layers.items()) {
    std::vector<std::string> reasons;
    for (const Json& reason : row["reasons"].items()) {
      reasons.push_back(reason.as_string());
    }
    absl::StrAppendFormat(&text, "%-32s %-22s %-4s %s\n", row["name"].as_string(),
                          row["op"].as_string(), reasons.empty() ? "yes" : "no",
                          absl::StrJoin(reasons, "; "));
  }
  return text;
}

absl::Status Run(CommandContext& context) {
  QB_ASSIGN_OR_RETURN(const std::string path, Required(context.flags, "model"));
  QB_ASSIGN_OR_RETURN(const std::string target_name, RequiredTarget(context.flags));
  QB_ASSIGN_OR_RETURN(const TargetSpec* target, FindTarget(target_name));
  ImportOptions options;
  QB_ASSIGN_OR_RETURN(options.input_shapes, InputShapes(context.flags));
  const std::string backend = context.flags.Has("backend") ? context.flags.Get("backend") : "onnx";
  QB_ASSIGN_OR_RETURN(ImportedModel model, ImportModel(backend, path, options));
  QB_RETURN_IF_ERROR(RunPasses(model.graph, PassOptions{}));
  const SupportReport support = CheckSupport(model.graph, *target);
  const Json layers = SupportSummary(support);
  const std::string text = context.flags.Has("json") ? layers.Dump(2) + "\n" : Table(layers);
  if (support.unsupported_count() > 0) {
    context.reporter.Print(text);
    return RequireFullSupport(support, *target);
  }
  context.reporter.Result(Json::Object().Set("target", target->name).Set("layers", layers), text);
  return absl::OkStatus();
}

}  // namespace

const Command& ValidateCommand() {
  static constexpr Command kCommand = {
      "validate", "can this model be compiled for this target",
      "Imports and simplifies a model and lists for each layer whether the NPU runs it, with the "
      "reasons where it does not. Exits with 1 when there are such layers. Only --backend onnx "
      "exists so far. Example: qbcompiler validate --model m.onnx --target-device regulus-ra",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker

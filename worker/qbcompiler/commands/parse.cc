#include <array>

#include "core/base/status_macros.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"

namespace qb::worker {
namespace {

constexpr auto kFlags =
    std::to_array<FlagDef>({kModelFlag, kOutputFlag, kBackendFlag, kTargetFlag, kDeviceFlag,
                            kOffloadFlag, kPresetFlag, kConfigFlag, kShapeFlag, kThreadsFlag});

absl::Status Run(CommandContext& context) {
  QB_ASSIGN_OR_RETURN(const CompileConfig config, ResolveConfig(context.flags, context.reporter));
  QB_ASSIGN_OR_RETURN(ParseRequest request, MakeParseRequest(context.flags, config));
  QB_ASSIGN_OR_RETURN(request.output_path, Required(context.flags, "output"));
  context.reporter.Plan(ParseStages());
  QB_ASSIGN_OR_RETURN(const CompileResult result,
                      Parse(request, config, context.reporter, context.cancel));
  context.reporter.Result(ResultFields(result), ResultText(result));
  return absl::OkStatus();
}

}  // namespace

const Command& ParseCommand() {
  static constexpr Command kCommand = {
      "parse", "model -> .mblt",
      "Imports a trained model, simplifies its graph, checks every layer against the target and "
      "writes the result. `quantize` goes on from there. Example: qbcompiler parse --model m.onnx "
      "--target-device aries-rb --output m.mblt",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker

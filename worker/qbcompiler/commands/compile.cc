#include <array>
#include <utility>

#include "core/base/status_macros.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"

namespace qb::worker {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>(
    {kModelFlag,         kOutputFlag,     kBackendFlag,   kTargetFlag,    kDeviceFlag,
     kRequireDeviceFlag, kOffloadFlag,    kPresetFlag,    kConfigFlag,    kCalibFlag,
     kRandomFlag,        kSavePathFlag,   kSchemeFlag,    kShapeFlag,     kThreadsFlag,
     kEvalDataFlag,      kEvalLabelsFlag, kStatsSaveFlag, kStatsLoadFlag, kReportDirFlag});

absl::Status Run(CommandContext& context) {
  QB_ASSIGN_OR_RETURN(const CompileConfig config, ResolveConfig(context.flags, context.reporter));
  CompileRequest request;
  QB_ASSIGN_OR_RETURN(request.parse, MakeParseRequest(context.flags, config));
  QB_ASSIGN_OR_RETURN(request.quantize, MakeQuantizeRequest(context.flags, config));
  context.reporter.Plan(CompileStages());
  QB_ASSIGN_OR_RETURN(const CompileResult result,
                      Compile(request, config, context.reporter, context.cancel));
  context.reporter.Result(ResultFields(result), ResultText(result));
  return absl::OkStatus();
}

}  // namespace

const Command& CompileCommand() {
  static constexpr Command kCommand = {
      "compile", "model -> .mxq",
      "Imports a trained model, calibrates it on samples, quantizes it to int8, schedules it for "
      "the target and writes one executable. The accuracy against the float model is checked at "
      "the end. Example: qbcompiler compile --model m.onnx --calib-data-path samples/ "
      "--target-device aries-rb --output m.mxq",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker

#include <array>

#include "core/base/status_macros.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"

namespace qb::worker {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>(
    {kMbltsFlag, kOutputFlag, kTargetFlag, kCalibFlag, kRandomFlag, kPresetFlag, kConfigFlag,
     kDeviceFlag, kRequireDeviceFlag, kSavePathFlag, kSchemeFlag, kThreadsFlag, kEvalDataFlag,
     kEvalLabelsFlag, kStatsSaveFlag, kStatsLoadFlag, kReportDirFlag});

absl::Status Run(CommandContext& context) {
  QB_ASSIGN_OR_RETURN(const CompileConfig config, ResolveConfig(context.flags, context.reporter));
  QB_RETURN_IF_ERROR(Required(context.flags, "mblt").status());
  QB_ASSIGN_OR_RETURN(const QuantizeRequest request, MakeQuantizeRequest(context.flags, config));
  context.reporter.Plan(QuantizeStages());
  QB_ASSIGN_OR_RETURN(const CompileResult result,
                      Quantize(request, config, context.reporter, context.cancel));
  context.reporter.Result(ResultFields(result), ResultText(result));
  return absl::OkStatus();
}

}  // namespace

const Command& QuantizeCommand() {
  static constexpr Command kCommand = {
      "quantize", ".mblt -> .mxq",
      "Calibrates and quantizes a model that `parse` wrote, schedules "
      "it for the target and writes one executable. Example: qbcompiler quantize --mblt m.mblt "
      "--calib-data-path samples/ --target-device aries-rb --output m.mxq",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker

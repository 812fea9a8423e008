#include "core/compiler/extract_body.h"

#include <array>

#include "core/base/status_macros.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"

namespace qb::worker {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({kMbltFlag, kOutputFlag});

absl::Status Run(CommandContext& context) {
  QB_ASSIGN_OR_RETURN(const std::string mblt, Required(context.flags, "mblt"));
  QB_ASSIGN_OR_RETURN(const std::string output, Required(context.flags, "output"));
  QB_ASSIGN_OR_RETURN(const CompileResult result, ExtractBody(mblt, output));
  context.reporter.Result(ResultFields(result), ResultText(result));
  return absl::OkStatus();
}

}  // namespace

const Command& ExtractBodyCommand() {
  static constexpr Command kCommand = {
      "extract-body", "the largest NPU part as a new .mblt",
      "Takes the NPU part with the most work out of a model that `parse --cpu-offload` wrote. The "
      "new model's inputs and outputs are the values at the part's border; calibration data for it "
      "must be those values. Example: qbcompiler extract-body --mblt m.mblt --output body.mblt",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker

#include <array>

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/package/mblt.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"

namespace qb::worker {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>(
    {kMbltFlag, {"mxq", 0, FlagKind::kValue, "FILE", "an executable: prints its whole manifest"}});

absl::Status Run(CommandContext& context) {
  const std::string mblt = context.flags.Get("mblt");
  const std::string mxq = context.flags.Get("mxq");
  if (mblt.empty() == mxq.empty()) {
    return Failure(FailureCode::kArgumentError, "give exactly one of --mblt and --mxq");
  }
  QB_ASSIGN_OR_RETURN(const Json manifest, ReadManifest(mblt.empty() ? mxq : mblt));
  const Json answer = mblt.empty() ? manifest : manifest["provenance"];
  context.reporter.Result(Json::Object().Set("info", answer), answer.Dump(2) + "\n");
  return absl::OkStatus();
}

}  // namespace

const Command& InfoCommand() {
  static constexpr Command kCommand = {
      "info", "provenance of an .mblt, manifest of an .mxq",
      "Prints as JSON where an .mblt came from (null when nothing was recorded), or what an .mxq "
      "holds: target, core modes, inputs, outputs, memory plan. Example: qbcompiler info --mxq "
      "m.mxq",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker

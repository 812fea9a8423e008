#include "worker/qbcompiler/completion.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "worker/qbcompiler/command.h"

namespace qb::worker {
namespace {

absl::Status Run(CommandContext& context) {
  const std::vector<std::string>& words = context.flags.positionals();
  if (words.empty()) {
    return Failure(FailureCode::kArgumentError, "SHELL is missing; accepted: bash, zsh, fish");
  }
  QB_ASSIGN_OR_RETURN(const std::string script, CompletionScript(words[0], AllCommands()));
  context.reporter.Result(Json::Object().Set("script", script), script);
  return absl::OkStatus();
}

}  // namespace

const Command& CompletionCommand() {
  static constexpr Command kCommand = {
      "completion",
      "completion of commands and flags in a shell",
      "Prints a script for bash, zsh or fish. In bash: eval \"$(qbcompiler completion bash)\"",
      {},
      Run,
      "SHELL"};
  return kCommand;
}

}  // namespace qb::worker

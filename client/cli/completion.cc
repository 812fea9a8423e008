// qbc completion: a script with which a shell completes commands and flags.
#include "absl/strings/str_cat.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "core/base/shell_completion.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

CompletedProgram Program() {
  CompletedProgram program;
  program.name = "qbc";
  for (const Command& command : AllCommands()) {
    CompletedCommand& completed = program.commands.emplace_back();
    completed.name = command.name;
    completed.summary = command.summary;
    completed.flags.assign(command.flags.begin(), command.flags.end());
    for (const FlagDef& flag : SharedFlags()) {
      if (flag.name != "help") {
        completed.flags.push_back(flag);
      }
    }
    if (command.name == "completion") {
      completed.words = {"bash", "zsh", "fish"};
    } else if (command.name == "context") {
      completed.words = {"list", "show", "set", "use", "clear", "remove"};
    } else if (command.name == "blob") {
      completed.words = {"put", "get", "check"};
    }
  }
  // Targets and presets are the server's to know.
  program.values = {{"device", {"gpu", "cpu"}},
                    {"progress", {"auto", "plain", "none"}},
                    {"cache", {"use", "refresh", "bypass"}},
                    {"inference-scheme", {"single", "multi", "global4", "global8", "all"}}};
  return program;
}

absl::StatusOr<int> RunCompletion(const ParsedFlags& flags, Session& session) {
  if (flags.positionals().size() != 1) {
    return UsageError("one SHELL is expected: bash, zsh or fish");
  }
  QB_ASSIGN_OR_RETURN(const std::string script,
                      CompletionScript(flags.positionals().front(), Program()));
  if (session.json()) {
    session.Answer(Json::Object().Set("type", "completion").Set("script", script));
  } else {
    session.AnswerText(script);
  }
  return kExitOk;
}

}  // namespace

const Command& CompletionCommand() {
  static const Command command = {
      .name = "completion",
      .usage = "completion SHELL",
      .summary = "Print a script that completes commands and flags in bash, zsh or fish",
      .help = R"help(Asks no server.

Examples:
  eval "$(qbc completion bash)"
  qbc completion fish | source
)help",
      .flags = {},
      .run = RunCompletion,
      .asks_server = false,
  };
  return command;
}

}  // namespace qb::client

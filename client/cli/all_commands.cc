// The table of commands, in the order of `qbc --help`.
#include <array>

#include "client/cli/command.h"

namespace qb::client {
namespace {

constexpr Command NotYet(absl::string_view name, absl::string_view summary) {
  return Command{name, "", summary, "", {}, nullptr};
}

}  // namespace

absl::Span<const Command> AllCommands() {
  static const auto commands = std::to_array<Command>({
      CompileCommand(),
      SubmitCommand(),
      ValidateCommand(),
      JobsCommand(),
      GetCommand(),
      WatchCommand(),
      WaitCommand(),
      LogsCommand(),
      CancelCommand(),
      DownloadCommand(),
      ShareCommand(),
      StatusCommand(),
      LoginCommand(),
      WhoamiCommand(),
      CompletionCommand(),
      VersionCommand(),
      NotYet("retry", "Run a job that failed again"),
  });
  return commands;
}

}  // namespace qb::client

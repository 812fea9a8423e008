// The table of commands, in the order of `qbc --help`.
#include <array>

#include "client/cli/command.h"

namespace qb::client {

absl::Span<const Command> AllCommands() {
  static const auto commands = std::to_array<Command>({
      CompileCommand(),  SubmitCommand(), ValidateCommand(), JobsCommand(),    GetCommand(),
      WatchCommand(),    WaitCommand(),   LogsCommand(),     CancelCommand(),  RetryCommand(),
      DownloadCommand(), PinCommand(),    UnpinCommand(),    ShareCommand(),   BlobCommand(),
      StatusCommand(),   LoginCommand(),  WhoamiCommand(),   ContextCommand(), CompletionCommand(),
      VersionCommand(),
  });
  return commands;
}

}  // namespace qb::client

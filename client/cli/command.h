// What a command of qbc is. all_commands.cc is the table of them.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "client/cli/environment.h"
#include "client/cli/session.h"
#include "core/base/flags.h"

namespace qb::client {

// Returns the exit code; an error is reported by the caller (see exit_code.h for its code).
using CommandFunction = absl::StatusOr<int> (*)(const ParsedFlags& flags, Session& session);

struct Command {
  absl::string_view name;
  absl::string_view usage;    // after "qbc": "compile MODEL --target-device NAME [flags]"
  absl::string_view summary;  // one line
  absl::string_view help;     // paragraphs and examples, as they are printed
  absl::Span<const FlagDef> flags;
  CommandFunction run;  // null: not supported yet
  // Whether it needs to know which server is meant: the others work with settings that are broken.
  bool asks_server = true;
};

// In the order of `qbc --help`.
absl::Span<const Command> AllCommands();

// One file each.
const Command& CompileCommand();
const Command& SubmitCommand();
const Command& ValidateCommand();
const Command& JobsCommand();
const Command& GetCommand();
const Command& WatchCommand();
const Command& WaitCommand();
const Command& LogsCommand();
const Command& CancelCommand();
const Command& RetryCommand();
const Command& DownloadCommand();
const Command& PinCommand();
const Command& UnpinCommand();
const Command& ShareCommand();
const Command& BlobCommand();
const Command& StatusCommand();
const Command& LoginCommand();
const Command& WhoamiCommand();
const Command& ContextCommand();
const Command& CompletionCommand();
const Command& VersionCommand();

}  // namespace qb::client

// The commands of qbcompiler: one file each under commands/, one row each in all_commands.cc.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/base/cancel_token.h"
#include "core/base/flags.h"
#include "worker/qbcompiler/reporter.h"

namespace qb::worker {

struct CommandContext {
  const ParsedFlags& flags;
  Reporter& reporter;
  const CancelToken& cancel;
};

struct Command {
  absl::string_view name;
  absl::string_view summary;  // one line
  // What a person learns from --help. It ends with "Example: " and a command line.
  absl::string_view description;
  absl::Span<const FlagDef> flags;
  // Null: known from the manual, but not built yet. Calls Reporter::Result on success.
  absl::Status (*run)(CommandContext& context);
  // What the one argument that is no flag is called in the help; empty: the command takes none.
  absl::string_view positional = "";
};

// In the order of the help.
absl::Span<const Command> AllCommands();

// commands/<name>.cc
const Command& CompileCommand();
const Command& ParseCommand();
const Command& QuantizeCommand();
const Command& DumpConfigCommand();
const Command& InfoCommand();
const Command& LayersCommand();
const Command& RunCommand();
const Command& EvaluateCommand();
const Command& PresetsCommand();
const Command& CheckCommand();
const Command& ValidateCommand();
const Command& MakeCalibCommand();
const Command& ExtractBodyCommand();
const Command& ExportOnnxCommand();
const Command& CompletionCommand();

// The whole program after the signal handlers are set: parses, runs, reports. Returns the exit
// code.
int RunCommandLine(absl::Span<const std::string> arguments, bool jsonl, const CancelToken& cancel);

}  // namespace qb::worker

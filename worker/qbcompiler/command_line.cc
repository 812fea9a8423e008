#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/compiler/version.h"
#include "worker/qbcompiler/command.h"

namespace qb::worker {
namespace {

constexpr int kHelpColumns = 88;

std::string GeneralHelp() {
  std::string text =
      "qbcompiler compiles trained models into executables (.mxq) for the abstract NPU.\n\n"
      "usage: qbcompiler COMMAND [flags]      qbcompiler COMMAND --help\n\n";
  for (const Command& command : AllCommands()) {
    absl::StrAppendFormat(&text, "  %-13s %s%s\n", command.name, command.summary,
                          command.run == nullptr ? " (not supported yet)" : "");
  }
  absl::StrAppend(&text,
                  "\nWith QBCOMPILER_JSONL=1 stdout carries one JSON object a line.\n"
                  "Exit codes: 0 ok, 1 compile failed, 2 bad arguments or config, 130 "
                  "interrupted.\n");
  return text;
}

std::string CommandHelp(const Command& command) {
  return absl::StrCat("qbcompiler ", command.name, ": ", command.summary, "\n\n",
                      WrapText(command.description, kHelpColumns, 0), "\n\n",
                      FormatFlags(command.flags, kHelpColumns));
}

const Command* FindCommand(const std::string& name) {
  for (const Command& command : AllCommands()) {
    if (command.name == name) {
      return &command;
    }
  }
  return nullptr;
}

bool AsksForHelp(absl::Span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      return true;
    }
    if (argument == "--") {
      return false;
    }
  }
  return false;
}

absl::Status UnknownCommand(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : AllCommands()) {
    names.emplace_back(command.name);
  }
  return Failure(FailureCode::kArgumentError, absl::StrCat("there is no command '", name,
                                                           "'; accepted: ", absl::StrJoin(names, ", ")));
}

absl::Status RunCommand(const Command& command, absl::Span<const std::string> arguments,
                        Reporter& reporter, const CancelToken& cancel) {
  if (command.run == nullptr) {
    return Failure(FailureCode::kUnsupportedOperator,
                   absl::StrCat("the command '", command.name, "' is not supported yet"));
  }
  QB_ASSIGN_OR_RETURN(const ParsedFlags flags, ParseFlags(command.flags, arguments));
  if (!flags.positionals().empty()) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("'", flags.positionals()[0], "' is no flag; ", command.name,
                                " takes flags only (see --help)"));
  }
  CommandContext context{flags, reporter, cancel};
  return command.run(context);
}

}  // namespace

int RunCommandLine(absl::Span<const std::string> arguments, bool jsonl,
                   const CancelToken& cancel) {
  ReporterOptions options;
  options.jsonl = jsonl;
  options.answers = stdout;
  options.messages = stderr;
  const char* terminal = std::getenv("TERM");
  options.progress_bar =
      isatty(STDERR_FILENO) != 0 && terminal != nullptr && absl::string_view(terminal) != "dumb";
  Reporter reporter(options);
  const bool empty = arguments.empty();
  if (empty || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    const std::string help = GeneralHelp();
    std::fputs(help.c_str(), empty ? stderr : stdout);
    return empty ? 2 : 0;
  }
  if (arguments[0] == "--version") {  // qbc-worker asks for it
    std::puts(absl::StrCat("qbcompiler ", CompilerVersion()).c_str());
    return 0;
  }
  const Command* command = FindCommand(arguments[0]);
  const absl::Span<const std::string> rest = arguments.subspan(1);
  if (command != nullptr && AsksForHelp(rest)) {
    std::fputs(CommandHelp(*command).c_str(), stdout);
    return 0;
  }
  const absl::Status status = command == nullptr ? UnknownCommand(arguments[0])
                                                 : RunCommand(*command, rest, reporter, cancel);
  if (status.ok()) {
    return 0;
  }
  reporter.Error(status);
  return FailureRowOf(FailureCodeOf(status)).qbcompiler_exit;
}

}  // namespace qb::worker

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "core/base/failure.h"
#include "core/base/spelling.h"
#include "core/base/status_macros.h"
#include "core/base/traceparent.h"
#include "core/compiler/version.h"
#include "core/config/compile_config.h"
#include "core/config/schema.h"
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
  // An example is not wrapped: it is there to be copied.
  const std::vector<std::string> parts = absl::StrSplit(command.description, " Example: ");
  std::string help = absl::StrCat(
      "qbcompiler ", command.name, command.positional.empty() ? "" : " ", command.positional, ": ",
      command.summary, "\n\n", WrapText(parts[0], kHelpColumns, 0), "\n\n");
  for (size_t i = 1; i < parts.size(); ++i) {
    absl::StrAppend(&help, "Example:\n  ", parts[i], "\n\n");
  }
  return absl::StrCat(help, FormatFlags(command.flags, kHelpColumns));
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

// The text that is asked for: of the program, or of a command; "" when no help is.
std::string HelpFor(const std::string& word, absl::Span<const std::string> rest) {
  const bool general = word == "--help" || word == "-h" || word == "help";
  const Command* command = FindCommand(general && !rest.empty() ? rest[0] : word);
  if (general) {
    return command == nullptr ? GeneralHelp() : CommandHelp(*command);
  }
  return command != nullptr && AsksForHelp(rest) ? CommandHelp(*command) : "";
}

// What programs get besides the message: the settings that are wrong, one by one.
Json ErrorDetails(const absl::Status& status) {
  Json details = Json::Object();
  const FailureCode code = FailureCodeOf(status);
  if (code == FailureCode::kConfigError || code == FailureCode::kTargetError) {
    Json violations = Json::Array();
    for (const ConfigProblem& problem : ConfigProblemsOf(status)) {
      violations.Append(Json::Object().Set("field", problem.path).Set("description", problem.text));
    }
    details.Set("violations", std::move(violations));
  }
  return details;
}

absl::Status UnknownCommand(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : AllCommands()) {
    names.emplace_back(command.name);
  }
  const std::vector<std::string> similar = SimilarWords(name, names);
  return Failure(FailureCode::kArgumentError,
                 absl::StrCat("there is no command '", name, "'; ",
                              similar.empty() ? "accepted: " : "did you mean ",
                              absl::StrJoin(similar.empty() ? names : similar, ", "),
                              similar.empty() ? "" : "?"));
}

// Arguments that older releases knew, and one that only other commands have, answer with what to
// do.
absl::Status CheckRemovedFlags(const Command& command, absl::Span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    const std::string flag = argument.substr(0, argument.find('='));
    if (command.name == "quantize" && (flag == "--cpu-offload" || flag == "--no-cpu-offload")) {
      return Failure(FailureCode::kArgumentError,
                     absl::StrCat(flag,
                                  ": quantize does not have it; set cpuOffload in the file of "
                                  "--compile-config"));
    }
    for (const RemovedKey& removed : RemovedConfigKeys()) {
      const std::string name =
          absl::StrCat("--", absl::StrReplaceAll(SnakeCase(removed.key), {{"_", "-"}}));
      if (flag == name) {
        return Failure(FailureCode::kArgumentError,
                       absl::StrCat(flag, " was removed; use ", removed.replacement));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status RunCommand(const Command& command, absl::Span<const std::string> arguments,
                        Reporter& reporter, const CancelToken& cancel) {
  if (command.run == nullptr) {
    return Failure(FailureCode::kUnsupportedOperator,
                   absl::StrCat("the command '", command.name, "' is not supported yet"));
  }
  QB_RETURN_IF_ERROR(CheckRemovedFlags(command, arguments));
  QB_ASSIGN_OR_RETURN(const ParsedFlags flags, ParseFlags(command.flags, arguments));
  const size_t accepted = command.positional.empty() ? 0 : 1;
  if (flags.positionals().size() > accepted) {
    return Failure(
        FailureCode::kArgumentError,
        absl::StrCat("'", flags.positionals()[accepted], "' is no flag; ", command.name, " takes ",
                     accepted == 0 ? "flags only" : command.positional, " (see --help)"));
  }
  CommandContext context{flags, reporter, cancel};
  return command.run(context);
}

}  // namespace

int RunCommandLine(absl::Span<const std::string> arguments, bool jsonl, const CancelToken& cancel) {
  ReporterOptions options;
  options.jsonl = jsonl;
  options.answers = stdout;
  options.messages = stderr;
  if (const char* trace = std::getenv("TRACEPARENT"); trace != nullptr && IsTraceparent(trace)) {
    options.traceparent = trace;
  }
  const char* terminal = std::getenv("TERM");
  options.progress_bar =
      isatty(STDERR_FILENO) != 0 && terminal != nullptr && absl::string_view(terminal) != "dumb";
  Reporter reporter(options);
  if (arguments.empty() && !jsonl) {
    std::fputs(GeneralHelp().c_str(), stderr);
    return 2;
  }
  const std::string word = arguments.empty() ? "" : arguments[0];
  if (word == "--version") {  // qbc-worker asks for it
    const std::string version = absl::StrCat("qbcompiler ", CompilerVersion());
    reporter.Result(Json::Object().Set("version", CompilerVersion()), version + "\n");
    return 0;
  }
  const absl::Span<const std::string> rest = arguments.subspan(arguments.empty() ? 0 : 1);
  if (const std::string help = HelpFor(word, rest); !help.empty()) {
    reporter.Result(Json::Object().Set("help", help), help);
    return 0;
  }
  const Command* command = FindCommand(word);
  const absl::Status status =
      command == nullptr ? UnknownCommand(word) : RunCommand(*command, rest, reporter, cancel);
  if (status.ok()) {
    return 0;
  }
  reporter.Error(status, ErrorDetails(status));
  return FailureRowOf(FailureCodeOf(status)).qbcompiler_exit;
}

}  // namespace qb::worker

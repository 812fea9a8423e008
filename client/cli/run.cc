#include "client/cli/run.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/session.h"
#include "core/base/spelling.h"

namespace qb::client {
namespace {

constexpr absl::string_view kExitCodes =
    R"(Exit codes: 0 success; 1 other error; 2 wrong usage; 3 the compile failed; 4 cancelled;
5 --timeout passed, the job goes on; 6 not allowed; 7 not found; 8 a limit of the server;
9 no server; 10 invalid input; 11 failure of the service; 130 interrupted, the job goes on.
)";

std::string Overview() {
  std::string text =
      "qbc compiles neural networks for NPUs on a compile server (qbc-server).\n\n"
      "usage: qbc COMMAND [arguments] [flags]\n\ncommands:\n";
  for (const Command& command : AllCommands()) {
    absl::StrAppendFormat(&text, "  %-11s %s%s\n", command.name, command.summary,
                          command.run == nullptr ? " (not supported yet)" : "");
  }
  absl::StrAppend(&text, "\n`qbc COMMAND --help` explains a command and its flags.\n",
                  "QBC_SERVER holds the address of the server.\n\n", kExitCodes);
  return text;
}

std::vector<FlagDef> FlagsOf(const Command& command) {
  std::vector<FlagDef> flags(command.flags.begin(), command.flags.end());
  const std::vector<FlagDef> shared = SharedFlags();
  flags.insert(flags.end(), shared.begin(), shared.end());
  return flags;
}

std::string HelpOf(const Command& command, int columns) {
  std::string text = absl::StrCat("usage: qbc ", command.usage, "\n\n", command.summary, ".\n");
  if (!command.help.empty()) {
    absl::StrAppend(&text, "\n", command.help);
  }
  absl::StrAppend(&text, "\nflags:\n", FormatFlags(FlagsOf(command), std::max(40, columns)), "\n",
                  kExitCodes);
  return text;
}

const Command* FindCommand(absl::string_view name) {
  for (const Command& command : AllCommands()) {
    if (command.name == name) {
      return &command;
    }
  }
  return nullptr;
}

int FailUsage(const CliEnvironment& environment, const absl::Status& status) {
  std::string message;
  const std::string name = ErrorName(status, &message);
  PrintError(environment, name, message, "see qbc --help");
  return ExitCodeOf(status);
}

int UnknownCommand(const std::string& word, const CliEnvironment& environment) {
  std::vector<std::string> names;
  for (const Command& command : AllCommands()) {
    names.emplace_back(command.name);
  }
  const std::vector<std::string> similar = SimilarWords(word, names);
  return FailUsage(
      environment,
      UsageError(absl::StrCat(
          "unknown command '", word, "'; ", similar.empty() ? "the commands are " : "did you mean ",
          absl::StrJoin(similar.empty() ? names : similar, ", "), similar.empty() ? "" : "?")));
}

int RunCommand(const Command& command, absl::Span<const std::string> arguments,
               const CliEnvironment& environment) {
  if (command.run == nullptr) {
    PrintError(environment, "UNIMPLEMENTED",
               absl::StrCat("qbc ", command.name, ": not supported yet"), "");
    return kExitOther;
  }
  const absl::StatusOr<ParsedFlags> flags = ParseFlags(FlagsOf(command), arguments);
  if (!flags.ok()) {
    return FailUsage(environment, flags.status());
  }
  if (flags->Has("help")) {
    *environment.out << HelpOf(command, environment.columns) << std::flush;
    return kExitOk;
  }
  const absl::StatusOr<std::unique_ptr<Session>> session =
      Session::Create(environment, *flags, command.asks_server);
  if (!session.ok()) {
    return FailUsage(environment, session.status());
  }
  const absl::StatusOr<int> code = command.run(*flags, **session);
  return code.ok() ? *code : (*session)->ReportError(code.status());
}

}  // namespace

int RunQbc(absl::Span<const std::string> arguments, const CliEnvironment& environment) {
  const std::string word = arguments.empty() ? "" : arguments.front();
  if (word == "--version") {
    return RunCommand(VersionCommand(), {}, environment);
  }
  const bool help = word == "--help" || word == "-h" || word == "help";
  if (help && arguments.size() > 1) {
    const Command* command = FindCommand(arguments[1]);
    if (command == nullptr) {
      return UnknownCommand(arguments[1], environment);
    }
    const std::vector<std::string> only_help = {"--help"};
    return RunCommand(*command, only_help, environment);
  }
  if (help) {
    *environment.out << Overview() << std::flush;
    return kExitOk;
  }
  if (word.empty()) {
    *environment.err << Overview() << std::flush;
    return kExitUsage;
  }
  const Command* command = FindCommand(word);
  return command == nullptr ? UnknownCommand(word, environment)
                            : RunCommand(*command, arguments.subspan(1), environment);
}

}  // namespace qb::client

#include "client/cli/local_compiler.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

#include "client/cli/exit_code.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

// Flags that only a server gives a meaning to.
constexpr std::array<absl::string_view, 12> kServerOnly = {
    "local",  "timeout", "priority", "label",  "run-timeout", "queue-timeout",
    "server", "cache",   "cpus",     "memory", "gpus",        "scratch"};

}  // namespace

absl::StatusOr<int> RunLocalCompiler(const std::string& word, const ParsedFlags& flags,
                                     absl::Span<const FlagDef> defs, Session& session) {
  std::vector<std::string> arguments = {word};
  if (flags.positionals().size() > 1) {
    return UsageError(
        absl::StrCat("one model at a time: '", flags.positionals()[1], "' is one too many"));
  }
  if (!flags.positionals().empty()) {
    arguments.insert(arguments.end(), {"--model", flags.positionals().front()});
  }
  for (const FlagDef& def : defs) {
    if (std::find(kServerOnly.begin(), kServerOnly.end(), def.name) != kServerOnly.end()) {
      continue;
    }
    for (const std::string& value : flags.GetAll(def.name)) {
      const bool is_switch = def.kind == FlagKind::kSwitch || def.kind == FlagKind::kNegatable;
      arguments.push_back(absl::StrCat(is_switch && value == "false" ? "--no-" : "--", def.name));
      if (!is_switch) {
        arguments.push_back(value);
      }
    }
  }
  std::string program = session.environment().get_env("QBC_COMPILER");
  if (program.empty()) {
    program = "qbcompiler";
  }
  QB_RETURN_IF_ERROR(session.environment().execute(program, arguments));
  return kExitOther;
}

}  // namespace qb::client

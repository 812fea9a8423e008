// Completion scripts for shells, from a program's table of commands.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/flags.h"

namespace qb {

struct CompletedCommand {
  absl::string_view name;
  absl::string_view summary;
  std::vector<FlagDef> flags;      // --help is added
  std::vector<std::string> words;  // what may stand as the argument that is no flag; empty: a file
};

// What the value of a flag may be, where that is a known word. Flags whose value_name lists the
// words
// ("gpu|cpu") need no such row.
struct CompletedValues {
  absl::string_view flag;
  std::vector<std::string> words;
};

struct CompletedProgram {
  absl::string_view name;
  std::vector<CompletedCommand> commands;
  std::vector<CompletedValues> values;
};

// A script for bash, zsh or fish that completes commands, their flags and the values of flags:
// known words, else files. Errors: ARGUMENT_ERROR with the list of shells.
absl::StatusOr<std::string> CompletionScript(absl::string_view shell,
                                             const CompletedProgram& program);

}  // namespace qb

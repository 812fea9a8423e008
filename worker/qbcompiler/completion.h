// Completion scripts for shells, from the table of commands.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "worker/qbcompiler/command.h"

namespace qb::worker {

// A script for bash, zsh or fish that completes commands, their flags, and files after flags that
// take one. Errors: ARGUMENT_ERROR with the list of shells.
absl::StatusOr<std::string> CompletionScript(absl::string_view shell,
                                             absl::Span<const Command> commands);

}  // namespace qb::worker

// Finding the compile program and asking for its version.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace qb::worker {

// The absolute path of `name`: as given when it has a '/', else beside this program, else on PATH.
// Errors: NotFound with the places that were searched.
absl::StatusOr<std::string> FindCompilerBinary(const std::string& name);

// The first line that `binary --version` prints, at most 100 bytes, "unknown" when it prints none.
// Errors: the program cannot be started.
absl::StatusOr<std::string> QueryCompilerBuild(const std::string& binary);

}  // namespace qb::worker

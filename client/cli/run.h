// The whole of qbc but its main: arguments in, exit code out.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"

#include "client/cli/environment.h"

namespace qb::client {

// `arguments` without the program's name.
int RunQbc(absl::Span<const std::string> arguments, const CliEnvironment& environment);

}  // namespace qb::client

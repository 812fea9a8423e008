// A place for human-readable messages. Passed in, never global.
#pragma once

#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace qb {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// "debug", "info", "warning", "error".
absl::string_view LogLevelName(LogLevel level);

}  // namespace qb

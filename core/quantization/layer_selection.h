// Layer names given as exact names or globs.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace qb {

// '*' is any text, '?' any one character; a name without them matches itself only.
bool MatchesLayer(absl::string_view pattern, absl::string_view name);
bool MatchesAnyLayer(const std::vector<std::string>& patterns, absl::string_view name);

}  // namespace qb

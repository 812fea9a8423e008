// Suggestions for a name that does not exist.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace qb {

// Up to `most` of `names`, by edit distance without regard to case, ties in the order given.
std::vector<std::string> NearestNames(absl::string_view wanted,
                                      const std::vector<std::string>& names, size_t most);

}  // namespace qb

// Suggestions for a word that is not known.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace qb {

// Up to `most` of `known`, by edit distance to `word` without regard to case, ties in the order
// given.
std::vector<std::string> NearestWords(absl::string_view word, absl::Span<const std::string> known,
                                      size_t most);

// Those of the three nearest words that `word` may well have been meant as: few changes away, or
// begun by it. May be empty.
std::vector<std::string> SimilarWords(absl::string_view word, absl::Span<const std::string> known);

}  // namespace qb

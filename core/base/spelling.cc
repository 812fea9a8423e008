#include "core/base/spelling.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace qb {
namespace {

constexpr size_t kLongest = 200;  // a longer word is no typing mistake

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

// (distance, index into `known`), best first.
std::vector<std::pair<size_t, size_t>> Ranked(absl::string_view word,
                                              absl::Span<const std::string> known) {
  const std::string lower = absl::AsciiStrToLower(word.substr(0, kLongest));
  std::vector<std::pair<size_t, size_t>> ranked;
  ranked.reserve(known.size());
  for (size_t i = 0; i < known.size(); ++i) {
    const std::string candidate =
        absl::AsciiStrToLower(absl::string_view(known[i]).substr(0, kLongest));
    ranked.emplace_back(EditDistance(lower, candidate), i);
  }
  std::sort(ranked.begin(), ranked.end());
  return ranked;
}

}  // namespace

std::vector<std::string> NearestWords(absl::string_view word, absl::Span<const std::string> known,
                                      size_t most) {
  const std::vector<std::pair<size_t, size_t>> ranked = Ranked(word, known);
  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min(most, ranked.size()); ++i) {
    nearest.push_back(known[ranked[i].second]);
  }
  return nearest;
}

std::vector<std::string> SimilarWords(absl::string_view word, absl::Span<const std::string> known) {
  constexpr size_t kMost = 3;
  std::vector<std::string> begun, close;
  for (const auto& [distance, index] : Ranked(word, known)) {
    const std::string& candidate = known[index];
    // A beginning of a word is meant as that word, however long the rest is.
    if (word.size() > 3 && absl::StartsWithIgnoreCase(candidate, word)) {
      begun.push_back(candidate);
    } else if (distance <= std::max<size_t>(1, candidate.size() / 3)) {
      close.push_back(candidate);
    }
  }
  begun.insert(begun.end(), close.begin(), close.end());
  begun.resize(std::min(kMost, begun.size()));
  return begun;
}

}  // namespace qb

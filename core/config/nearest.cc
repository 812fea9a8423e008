#include "core/config/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"

namespace qb {
namespace {

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> NearestNames(absl::string_view wanted,
                                      const std::vector<std::string>& names, size_t most) {
  constexpr size_t kLongest = 200;  // a longer name is no typing mistake
  const std::string lower = absl::AsciiStrToLower(wanted.substr(0, kLongest));
  std::vector<std::pair<size_t, size_t>> ranked;
  for (size_t i = 0; i < names.size(); ++i) {
    ranked.emplace_back(
        EditDistance(lower, absl::AsciiStrToLower(names[i].substr(0, kLongest))), i);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min(most, ranked.size()); ++i) {
    nearest.push_back(names[ranked[i].second]);
  }
  return nearest;
}

}  // namespace qb

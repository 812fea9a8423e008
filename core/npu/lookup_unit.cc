#include "core/npu/lookup_unit.h"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/failure.h"

namespace qb::npu {
namespace {

// True when the entries between the clamps lie within roundings of one line.
template <typename Entry>
bool IsClampedLine(const std::vector<Entry>& table) {
  const auto [low, high] = std::minmax_element(table.begin(), table.end());
  std::vector<std::pair<double, double>> inner;
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] != *low && table[i] != *high) {
      inner.emplace_back(static_cast<double>(i), static_cast<double>(table[i]));
    }
  }
  if (inner.size() < 3) {
    return std::is_sorted(table.begin(), table.end()) ||
           std::is_sorted(table.rbegin(), table.rend());
  }
  const double slope = (inner.back().second - inner.front().second) /
                       (inner.back().first - inner.front().first);
  double least = 0;
  double most = 0;
  for (const auto& [x, y] : inner) {
    const double rest = y - inner.front().second - slope * (x - inner.front().first);
    least = std::min(least, rest);
    most = std::max(most, rest);
  }
  // Each entry is off by half a unit at most, and so are the two that gave the slope.
  return most - least <= 2.0;
}

bool IsClampedLine(const integer::LutParams& lookup) {
  // Knots are values of the function itself, so those between the clamps lie on the line.
  return lookup.knots.empty() ? IsClampedLine(lookup.table) : IsClampedLine(lookup.knots);
}

}  // namespace

absl::Status CheckLookupUnit(const integer::Network& network, const TargetSpec& target) {
  if (target.lut_unit) {
    return absl::OkStatus();
  }
  for (const integer::Layer& layer : network.layers) {
    const auto* lookup = std::get_if<integer::LutParams>(&layer.params);
    const bool needs = std::holds_alternative<integer::SoftmaxParams>(layer.params) ||
                       std::holds_alternative<integer::NormalizationParams>(layer.params) ||
                       (lookup != nullptr && !IsClampedLine(*lookup));
    if (needs) {
      return Failure(FailureCode::kTargetError,
                     absl::StrCat("layer '", layer.name, "': target ", target.name,
                                  " has no lookup-table unit for non-linear functions"));
    }
  }
  return absl::OkStatus();
}

}  // namespace qb::npu

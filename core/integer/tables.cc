#include "core/integer/tables.h"

#include <algorithm>
#include <cmath>

#include "core/integer/requant.h"

namespace qb::integer {

std::vector<int8_t> LookupTable(const std::function<double(double)>& function, const TensorInfo& x,
                                const TensorInfo& y) {
  std::vector<int8_t> table(256);
  for (int64_t code = -128; code <= 127; ++code) {
    const double real = static_cast<double>(x.scale) * static_cast<double>(code - x.zero_point);
    double steps = function(real) / static_cast<double>(y.scale);
    if (std::isnan(steps)) {
      steps = 0;
    }
    // Clamped first: the bounds are integers, so rounding cannot cross them.
    steps = std::clamp(steps, -1024.0, 1024.0);
    const double floor = std::floor(steps);
    const double fraction = steps - floor;
    const bool odd = std::fmod(floor, 2.0) != 0.0;
    const bool up = fraction > 0.5 || (fraction == 0.5 && odd);
    const int64_t rounded = static_cast<int64_t>(floor) + (up ? 1 : 0);
    table[static_cast<size_t>(code + 128)] =
        static_cast<int8_t>(Clamp(y.zero_point + rounded, -128, 127));
  }
  return table;
}

LutParams KnotTable(const std::function<double(double)>& function, const TensorInfo& x,
                    const TensorInfo& y) {
  float largest_factor = y.channel_factors.empty() ? 1.0f : 0.0f;
  for (const float factor : y.channel_factors) {
    largest_factor = std::max(largest_factor, factor);
  }
  const double step = static_cast<double>(y.scale) * static_cast<double>(largest_factor);
  const int32_t codes = std::max(MostCode(y.dtype) - y.zero_point, y.zero_point - LeastCode(y.dtype));
  const double bound = 2.0 * step * codes;
  std::vector<double> values;
  double largest = 0.0;
  for (size_t i = 0; i < kLookupKnots; ++i) {
    const double code = static_cast<double>(static_cast<int64_t>(i << kKnotBits) - 32768);
    const double value = function(static_cast<double>(x.scale) * code);
    values.push_back(std::isnan(value) ? 0.0 : std::clamp(value, -bound, bound));
    largest = std::max(largest, std::abs(values.back()));
  }
  LutParams table;
  // A function that is zero to the last code has knots of zero at any scale.
  const double unit = std::max(largest, step) / kMostKnot;
  for (const double value : values) {
    table.knots.push_back(static_cast<int16_t>(std::lrint(value / unit)));
  }
  const auto add_requant = [&](double channel_step) {
    const double multiplier = unit / channel_step / (1 << kKnotBits);
    // Beyond 2^20 every code but that of zero saturates.
    table.requant.push_back(*RequantFromMultiplier(std::min(multiplier, 0x1p20)));
  };
  if (y.channel_factors.empty()) {
    add_requant(y.scale);
  }
  for (const float factor : y.channel_factors) {
    add_requant(static_cast<double>(y.scale) * static_cast<double>(factor));
  }
  return table;
}

std::vector<int32_t> SoftmaxExpTable(double step) {
  std::vector<int32_t> table(256);
  for (int d = 0; d < 256; ++d) {
    table[static_cast<size_t>(d)] = static_cast<int32_t>(std::lrint(kSoftmaxOne * std::exp(-d * step)));
  }
  return table;
}

std::vector<int32_t> WideSoftmaxExpTable(double step) {
  std::vector<int32_t> table = SoftmaxExpTable(256.0 * step);
  const std::vector<int32_t> low = SoftmaxExpTable(step);
  table.insert(table.end(), low.begin(), low.end());
  return table;
}

std::vector<int8_t> RescaleTable(Requant requant, int32_t zero_point_x, int32_t zero_point_y) {
  std::vector<int8_t> table(256);
  for (int64_t code = -128; code <= 127; ++code) {
    table[static_cast<size_t>(code + 128)] = static_cast<int8_t>(
        ApplyRequant(static_cast<int32_t>(code) - zero_point_x, requant, zero_point_y, -128, 127));
  }
  return table;
}

}  // namespace qb::integer

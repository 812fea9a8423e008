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

#include "core/evaluate/metrics.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace qb {

bool HasClassAxis(const Shape& shape) {
  return (shape.rank() == 2 || shape.rank() == 3) && shape[shape.rank() - 1] > 1;
}

OutputSums CompareOutputs(const Tensor& reference, const Tensor& candidate) {
  QB_CHECK(reference.type() == candidate.type());
  OutputSums sums;
  const absl::Span<const float> y = reference.values<float>();
  const absl::Span<const float> q = candidate.values<float>();
  for (size_t i = 0; i < y.size(); ++i) {
    const double a = y[i];
    const double b = q[i];
    sums.signal += a * a;
    sums.noise += (b - a) * (b - a);
    sums.other += b * b;
    sums.product += a * b;
    sums.max_error = std::max(sums.max_error, std::abs(b - a));
    sums.max_signal = std::max(sums.max_signal, std::abs(a));
  }
  if (HasClassAxis(reference.shape())) {
    const auto width = static_cast<size_t>(reference.shape()[reference.shape().rank() - 1]);
    for (size_t row = 0; row + width <= y.size(); row += width) {
      ++sums.rows;
      sums.equal_rows += ArgMax(y.subspan(row, width)) == ArgMax(q.subspan(row, width)) ? 1 : 0;
    }
  }
  return sums;
}

double SqnrDb(double signal, double noise) {
  constexpr double kMostDb = 200;
  if (noise <= 0) {
    return kMostDb;
  }
  return signal <= 0 ? -kMostDb
                     : std::clamp(10 * std::log10(signal / noise), -kMostDb, kMostDb);
}

int64_t ArgMax(absl::Span<const float> values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

bool InTopK(absl::Span<const float> values, int64_t label, int64_t k) {
  if (label < 0 || label >= static_cast<int64_t>(values.size())) {
    return false;
  }
  const float score = values[static_cast<size_t>(label)];
  int64_t before = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool earlier = static_cast<int64_t>(i) < label;
    before += values[i] > score || (values[i] == score && earlier) ? 1 : 0;
  }
  return before < k;
}

}  // namespace qb

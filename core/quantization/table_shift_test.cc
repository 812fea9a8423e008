#include "core/quantization/table_shift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/integer/tables.h"

namespace qb {
namespace {

constexpr float kStep = 16.0f / 32767.0f;

integer::TensorInfo Codes(DType dtype, float scale) {
  integer::TensorInfo info;
  info.dtype = dtype;
  info.shape = Shape{1000, 1};
  info.scale = scale;
  return info;
}

double Swish(double x) { return x / (1.0 + std::exp(-x)); }

// Codes around `centre`, and the mean that the function has of them.
struct Values {
  Values(double centre, double deviation) {
    std::mt19937 random(3);
    for (int i = 0; i < 1000; ++i) {
      // Uniform: std::normal_distribution differs between libraries.
      const double unit = static_cast<double>(random()) / 4294967296.0 - 0.5;
      const double real = centre + deviation * 3.46 * unit;
      codes.push_back(static_cast<int16_t>(std::lrint(real / static_cast<double>(kStep))));
    }
  }
  double MeanOf(double shift) const {
    double sum = 0.0;
    for (const int16_t code : codes) {
      sum += Swish(static_cast<double>(kStep) * code + shift);
    }
    return sum / static_cast<double>(codes.size());
  }
  std::vector<int16_t> codes;
};

double ShiftFor(const Values& values, double want) {
  const integer::TensorInfo y = Codes(DType::kInt8, 8.0f / 127.0f);
  const integer::LutParams table = integer::KnotTable(Swish, Codes(DType::kInt16, kStep), y);
  CodeCounts counts(1);
  counts.Add(values.codes);
  return ShiftsForMeans(table, y, counts, {want}).at(0) * static_cast<double>(kStep);
}

TEST(ShiftsForMeans, FindsTheShiftThatWasMade) {
  for (const double centre : {-1.0, 0.0, 2.0}) {
    const Values values(centre, 1.0);
    for (const double shift : {-0.3, 0.02, 0.4}) {
      EXPECT_NEAR(ShiftFor(values, values.MeanOf(shift)), shift, 0.02) << centre << " " << shift;
    }
  }
}

TEST(ShiftsForMeans, LeavesFlatPlacesAlone) {
  const Values values(-12.0, 0.5);
  EXPECT_EQ(ShiftFor(values, values.MeanOf(0.4)), 0.0);
}

TEST(ShiftsForMeans, GoesNoFurtherThanADeviation) {
  const Values values(1.0, 0.5);
  EXPECT_NEAR(ShiftFor(values, 100.0), 0.5, 0.02);
}

TEST(CodeCounts, SplitsChannelsAndAddsUp) {
  CodeCounts counts(2), other(2);
  counts.Add(std::vector<int16_t>{-32768, 32767, -32768, 0});
  other.Add(std::vector<int16_t>{-32768, 0});
  counts.Add(other);
  EXPECT_EQ(counts.of_channel(0)[0], 3);
  EXPECT_EQ(counts.of_channel(1)[CodeCounts::kBins - 1], 1);
  EXPECT_EQ(counts.of_channel(1)[CodeCounts::kBins / 2], 2);
}

}  // namespace
}  // namespace qb

#include "core/integer/requant.h"

#include <cmath>
#include <limits>

#include "core/base/testing/status_matchers.h"
#include "core/integer/testing/random_network.h"

namespace qb::integer {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

// value / 2^shift, half to even, in 128-bit arithmetic and by the definition: the nearest integer,
// of two equally near ones the even one.
int64_t ExactRound(__int128 value, int shift) {
  const __int128 unit = static_cast<__int128>(1) << shift;
  __int128 floor = value / unit;
  __int128 rest = value % unit;
  if (rest < 0) {
    rest += unit;
    --floor;
  }
  if (2 * rest > unit || (2 * rest == unit && floor % 2 != 0)) {
    ++floor;
  }
  return static_cast<int64_t>(floor);
}

TEST(RoundShift, TiesGoToEven) {
  EXPECT_EQ(RoundShift(1, 1), 0);
  EXPECT_EQ(RoundShift(3, 1), 2);
  EXPECT_EQ(RoundShift(5, 1), 2);
  EXPECT_EQ(RoundShift(-1, 1), 0);
  EXPECT_EQ(RoundShift(-3, 1), -2);
  EXPECT_EQ(RoundShift(-5, 1), -2);
  EXPECT_EQ(RoundShift(6, 2), 2);
  EXPECT_EQ(RoundShift(-6, 2), -2);
  EXPECT_EQ(RoundShift(7, 2), 2);
  EXPECT_EQ(RoundShift(-7, 2), -2);
}

TEST(ApplyRequant, EqualsExactRationalArithmetic) {
  testing::Random random(11);
  for (int i = 0; i < 300000; ++i) {
    Requant requant;
    requant.mantissa = static_cast<int32_t>(random.Int(0, std::numeric_limits<int32_t>::max()));
    requant.shift = static_cast<int32_t>(random.Int(1, 62));
    if (i % 3 == 0) {
      requant.mantissa = 1 << random.Int(0, 30);  // powers of two make ties
    }
    int32_t acc = static_cast<int32_t>(
        random.Int(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
    acc >>= static_cast<int32_t>(random.Int(0, 31));
    const int32_t zero_point = static_cast<int32_t>(random.Int(-128, 127));
    const __int128 exact = ExactRound(static_cast<__int128>(acc) * requant.mantissa, requant.shift);
    const __int128 code = std::min<__int128>(std::max<__int128>(exact + zero_point, -128), 127);
    ASSERT_EQ(ApplyRequant(acc, requant, zero_point, -128, 127), static_cast<int32_t>(code))
        << acc << " * " << requant.mantissa << " >> " << requant.shift;
  }
}

TEST(ApplyRequant, SaturatesAtTheEndsOfInt32) {
  const int32_t lowest = std::numeric_limits<int32_t>::min();
  const int32_t highest = std::numeric_limits<int32_t>::max();
  for (int32_t shift = 1; shift <= 62; ++shift) {
    for (const int32_t acc : {lowest, lowest + 1, -1, 0, 1, highest}) {
      const Requant requant{highest, shift};
      const int64_t exact = ExactRound(static_cast<__int128>(acc) * highest, shift);
      EXPECT_EQ(ApplyRequant(acc, requant, 0, -128, 127), Clamp(exact, -128, 127));
    }
  }
}

TEST(RequantFromMultiplier, IsWithinHalfAUnitOfTheLastPlace) {
  testing::Random random(12);
  for (int i = 0; i < 20000; ++i) {
    const double multiplier =
        std::ldexp(random.Real(0.5, 1.0), static_cast<int>(random.Int(-30, 29)));
    QB_ASSERT_OK_AND_ASSIGN(const Requant requant, RequantFromMultiplier(multiplier));
    ASSERT_GE(requant.mantissa, 1 << 30);
    ASSERT_LE(std::abs(MultiplierOf(requant) - multiplier), multiplier * 0x1.0p-31);
  }
}

TEST(RequantFromMultiplier, HandlesTheEnds) {
  QB_ASSERT_OK_AND_ASSIGN(const Requant zero, RequantFromMultiplier(0.0));
  EXPECT_EQ(ApplyRequant(std::numeric_limits<int32_t>::max(), zero, 3, -128, 127), 3);
  QB_ASSERT_OK_AND_ASSIGN(const Requant tiny, RequantFromMultiplier(0x1.0p-61));
  EXPECT_EQ(tiny.shift, 62);
  EXPECT_EQ(tiny.mantissa, 2);
  QB_ASSERT_OK_AND_ASSIGN(const Requant one, RequantFromMultiplier(1.0));
  EXPECT_EQ(MultiplierOf(one), 1.0);
  QB_ASSERT_OK_AND_ASSIGN(const Requant below_one, RequantFromMultiplier(std::nextafter(1.0, 0.0)));
  EXPECT_EQ(MultiplierOf(below_one), 1.0);
  EXPECT_THAT(RequantFromMultiplier(0x1.0p30),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^30")));
  EXPECT_THAT(RequantFromMultiplier(-1.0),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(RequantFromMultiplier(std::nan("")),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

TEST(AddScalingFromRatios, KeepsThirtyTwoBitsOfTheLargerMultiplier) {
  testing::Random random(13);
  for (int i = 0; i < 5000; ++i) {
    const double a = std::ldexp(random.Real(0.5, 1.0), static_cast<int>(random.Int(-20, 20)));
    const double b = a * random.Real(0.001, 1.0);
    QB_ASSERT_OK_AND_ASSIGN(const AddScaling scaling, AddScalingFromRatios(a, b));
    ASSERT_LT(scaling.multiplier_a, int64_t{1} << 32);
    ASSERT_GE(scaling.multiplier_a, int64_t{1} << 30);
    ASSERT_LE(std::abs(std::ldexp(static_cast<double>(scaling.multiplier_b), -scaling.shift) - b),
              std::ldexp(1.0, -scaling.shift));
  }
  EXPECT_THAT(AddScalingFromRatios(0.0, 1.0),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

TEST(DivideRoundHalfEven, EqualsTheDefinition) {
  for (int64_t n = 0; n < 200; ++n) {
    for (int64_t d = 1; d < 30; ++d) {
      const int64_t q = DivideRoundHalfEven(n, d);
      ASSERT_LE(std::abs(2 * (n - q * d)), d);
      if (2 * std::abs(n - q * d) == d) {
        ASSERT_EQ(q % 2, 0) << n << "/" << d;
      }
    }
  }
}

TEST(CheckAccumulatorBound, HoldsExactlyUpToTheLimit) {
  ConvParams conv;
  conv.weights.assign(1000, 127);
  conv.requant.push_back({1 << 30, 40});
  // 1000 * 127 * 255 = 32 385 000 with zero point -128.
  conv.bias = {std::numeric_limits<int32_t>::max() - 32385000};
  EXPECT_EQ(AccumulatorBound(conv, 0, -128), std::numeric_limits<int32_t>::max());
  QB_EXPECT_OK(CheckAccumulatorBound(conv, -128));
  ++conv.bias[0];
  EXPECT_THAT(CheckAccumulatorBound(conv, -128),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("output channel 0")));
}

}  // namespace
}  // namespace qb::integer

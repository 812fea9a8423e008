#include "core/integer/normalization.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/base/testing/status_matchers.h"
#include "core/integer/requant.h"
#include "core/integer/run_layer.h"
#include "core/integer/testing/random_network.h"
#include "core/integer/validate.h"

namespace qb::integer {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;
using testing::NetworkBuilder;
using ::testing::Not;

// A network of one normalization of rows of `length`.
struct Sample {
  NetworkBuilder b;
  RealNormalization real;
  int x, y;

  Sample(uint64_t seed, int64_t rows, int64_t length, DType from = DType::kInt8,
         DType to = DType::kInt8)
      : b(seed) {
    x = b.Input({rows, length}, from);
    real.epsilon = 1e-5;
    for (int64_t i = 0; i < length; ++i) {
      real.scale.push_back(b.random.Real(-2.0, 2.0));
      real.bias.push_back(b.random.Real(-1.0, 1.0));
    }
    y = b.Layer({x}, {rows, length}, NormalizationParams{}, to);
    info(y).scale = to == DType::kInt16 ? 2e-4f : 0.05f;
  }

  TensorInfo& info(int tensor) { return b.network.tensors[static_cast<size_t>(tensor)]; }
  void Build() {
    b.network.layers.back().params = NormalizationFromReal(real, b.info(x), b.info(y));
    b.Output(y);
  }
};

// Row by row, the value before it is rounded.
std::vector<double> Expected(const Sample& s, const std::vector<int>& codes) {
  const TensorInfo& x = s.b.info(s.x);
  const size_t length = s.real.scale.size();
  std::vector<double> steps;
  for (size_t first = 0; first < codes.size(); first += length) {
    long double mean = 0, square = 0;
    for (size_t i = 0; i < length; ++i) {
      mean += static_cast<long double>(codes[first + i] - x.zero_point);
    }
    mean = s.real.centered ? mean / static_cast<long double>(length) : 0;
    for (size_t i = 0; i < length; ++i) {
      const long double d = static_cast<long double>(codes[first + i] - x.zero_point) - mean;
      square += d * d / static_cast<long double>(length);
    }
    const long double scale = static_cast<long double>(x.scale);
    const long double root = std::sqrt(square * scale * scale + s.real.epsilon);
    for (size_t i = 0; i < length; ++i) {
      const long double d = static_cast<long double>(codes[first + i] - x.zero_point) - mean;
      const long double normalized = root == 0 ? 0 : d * scale / root;
      steps.push_back(static_cast<double>((normalized * s.real.scale[i] + s.real.bias[i]) /
                                          static_cast<long double>(s.b.info(s.y).scale)));
    }
  }
  return steps;
}

template <typename X, typename Y>
std::vector<int> Codes(const Sample& s, const std::vector<int>& codes) {
  const std::vector<X> x(codes.begin(), codes.end());
  std::vector<Y> y(codes.size());
  QB_EXPECT_OK(RunNetwork(s.b.network, {x.data()}, {y.data()}));
  return std::vector<int>(y.begin(), y.end());
}

std::vector<int> RandomCodes(Sample& s, int64_t count) {
  const DType dtype = s.b.info(s.x).dtype;
  std::vector<int> codes;
  for (int64_t i = 0; i < count; ++i) {
    codes.push_back(static_cast<int>(s.b.random.Int(LeastCode(dtype), MostCode(dtype))));
  }
  return codes;
}

// The result is the nearest code of the real function: half a step, and what a reciprocal of 32
// bits may move a tie.
void ExpectNearest(const Sample& s, const std::vector<int>& codes, const std::vector<int>& got) {
  const std::vector<double> expected = Expected(s, codes);
  const TensorInfo& y = s.b.info(s.y);
  for (size_t i = 0; i < got.size(); ++i) {
    const double most = static_cast<double>(MostCode(y.dtype) - y.zero_point);
    const double least = static_cast<double>(LeastCode(y.dtype) - y.zero_point);
    ASSERT_NEAR(got[i] - y.zero_point, std::clamp(expected[i], least, most), 0.5001)
        << "at " << i << " of rows of " << s.real.scale.size();
  }
}

TEST(Normalization, GivesTheNearestCode) {
  for (const int64_t length : {1, 2, 7, 64, 768, 5000}) {
    for (const bool centered : {true, false}) {
      Sample s(static_cast<uint64_t>(length), 6, length);
      s.real.centered = centered;
      s.Build();
      const std::vector<int> codes = RandomCodes(s, 6 * length);
      ExpectNearest(s, codes, Codes<int8_t, int8_t>(s, codes));
    }
  }
}

TEST(Normalization, TakesAndGivesSixteenBits) {
  for (const bool centered : {true, false}) {
    Sample wide(5, 4, 300, DType::kInt16, DType::kInt16);
    wide.real.centered = centered;
    wide.Build();
    std::vector<int> codes = RandomCodes(wide, 1200);
    ExpectNearest(wide, codes, Codes<int16_t, int16_t>(wide, codes));
    Sample widens(6, 4, 300, DType::kInt8, DType::kInt16);
    widens.Build();
    codes = RandomCodes(widens, 1200);
    ExpectNearest(widens, codes, Codes<int8_t, int16_t>(widens, codes));
    Sample narrows(7, 4, 300, DType::kInt16, DType::kInt8);
    narrows.Build();
    codes = RandomCodes(narrows, 1200);
    ExpectNearest(narrows, codes, Codes<int16_t, int8_t>(narrows, codes));
  }
}

// Small deviations, where epsilon counts and where it does not; extremes, where the sums are
// largest.
TEST(Normalization, IsExactAtTheEndsOfItsRange) {
  for (const double epsilon : {0.0, 1e-12, 1e-5, 1.0, 1e6}) {
    for (const float scale : {1e-12f, 1e-4f, 0.05f, 30.0f}) {
      Sample s(9, 5, 32);
      s.real.epsilon = epsilon;
      s.info(s.x).scale = scale;
      s.Build();
      std::vector<int> codes(160, 3);      // the first row is constant
      codes[40] = 4;                       // one code differs
      for (size_t i = 64; i < 160; ++i) {  // two extremes, one extreme, small noise
        codes[i] = i < 96 ? (i % 2 == 0 ? -128 : 127) : (i < 128 ? -128 : static_cast<int>(i % 3));
      }
      ExpectNearest(s, codes, Codes<int8_t, int8_t>(s, codes));
    }
  }
}

TEST(Normalization, KeepsTheLongestRunOfSixteenBitExtremes) {
  Sample s(11, 2, kMostNormalized, DType::kInt16, DType::kInt16);
  s.Build();
  std::vector<int> codes;
  for (int64_t i = 0; i < 2 * kMostNormalized; ++i) {
    const bool low = i < kMostNormalized ? i % 2 == 0 : i == kMostNormalized;
    codes.push_back(low ? -32767 : 32767);
  }
  ExpectNearest(s, codes, Codes<int16_t, int16_t>(s, codes));
}

TEST(Normalization, StoresWhatItWasGiven) {
  Sample s(3, 1, 48);
  s.Build();
  const RealNormalization again = RealOfNormalization(
      std::get<NormalizationParams>(s.b.network.layers[0].params), s.b.info(s.x), s.b.info(s.y));
  EXPECT_NEAR(again.epsilon, 1e-5, 1e-13);
  for (size_t i = 0; i < 48; ++i) {
    EXPECT_NEAR(again.scale[i], s.real.scale[i], 1e-8);
    EXPECT_NEAR(again.bias[i], s.real.bias[i], 1e-8);
  }
}

TEST(Normalization, RunsInPlace) {
  Sample s(4, 3, 20);
  s.info(s.y).scale = 0.04f;
  s.Build();
  const Layer& layer = s.b.network.layers[0];
  ASSERT_TRUE(MayRunInPlace(layer, s.b.network, 0));
  std::vector<int8_t> codes = s.b.random.Codes(60);
  std::vector<int8_t> apart(60);
  Scratch scratch;
  QB_ASSERT_OK(RunLayer(layer, s.b.network, {codes.data()}, apart.data(), scratch));
  QB_ASSERT_OK(RunLayer(layer, s.b.network, {codes.data()}, codes.data(), scratch));
  EXPECT_EQ(codes, apart);
}

TEST(Normalization, FindsTheAxesOfARun) {
  EXPECT_EQ(NormalizedAxis({2, 3, 4}, 4), 2);
  EXPECT_EQ(NormalizedAxis({2, 3, 4}, 12), 1);
  EXPECT_EQ(NormalizedAxis({2, 3, 4}, 24), 0);
  EXPECT_EQ(NormalizedAxis({2, 3, 4}, 6), -1);
  EXPECT_EQ(NormalizedAxis({2, 3, 4}, 2), -1);
  EXPECT_EQ(NormalizedAxis({2, 3, 4}, 48), -1);
}

TEST(Normalization, RefusesNumbersThatLeaveItsRange) {
  const auto refused = [](auto&& damage) {
    Sample s(8, 2, 16);
    s.Build();
    damage(std::get<NormalizationParams>(s.b.network.layers[0].params));
    return ValidateNetwork(s.b.network);
  };
  QB_EXPECT_OK(refused([](NormalizationParams&) {}));
  const auto bad = [](const char* text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(refused([](NormalizationParams& p) { p.scale.pop_back(); }), bad("15 factors"));
  EXPECT_THAT(refused([](NormalizationParams& p) {
                p.scale.clear();
                p.bias.clear();
              }),
              bad("0 factors"));
  EXPECT_THAT(refused([](NormalizationParams& p) {
                p.scale.resize(6);
                p.bias.resize(6);
              }),
              bad("runs of 6"));
  EXPECT_THAT(refused([](NormalizationParams& p) { p.epsilon = -1; }), bad("epsilon -1"));
  EXPECT_THAT(refused([](NormalizationParams& p) { p.epsilon_shift = 96; }), bad("2^96"));
  EXPECT_THAT(refused([](NormalizationParams& p) { p.shift = 41; }), bad("shift 41"));
  EXPECT_THAT(refused([](NormalizationParams& p) { p.bias[3] = kMostOffset; }), bad("2^47"));
}

}  // namespace
}  // namespace qb::integer

#include "core/dataset/sample_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

const InputSpec kNchw{"x", {DType::kFloat32, {1, 2, 2, 3}}};
const InputSpec kNhwc{"x", {DType::kFloat32, {1, 2, 3, 2}}};

Tensor Read(const Tensor& array, const InputSpec& spec) {
  const absl::StatusOr<SampleReading> reading = ChooseReading(array.type(), spec);
  EXPECT_THAT(reading, testing::IsOk());
  return reading.ok() ? ApplyReading(array, *reading, spec) : Tensor();
}

TEST(ChooseReading, TakesTheInputsShapeWithOrWithoutBatch) {
  const std::vector<float> values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (const Shape& shape : {Shape{1, 2, 2, 3}, Shape{2, 2, 3}}) {
    const Tensor read = Read(Tensor::OfFloats(shape, values), kNchw);
    EXPECT_TRUE(read.Equals(Tensor::OfFloats({1, 2, 2, 3}, values)));
  }
}

TEST(ChooseReading, TurnsHwcIntoNchwAndBack) {
  // Channel c of pixel p has the value 10 c + p.
  const Tensor hwc = Tensor::OfFloats({2, 3, 2}, {0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15});
  const Tensor chw = Tensor::OfFloats({2, 2, 3}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  EXPECT_TRUE(Read(hwc, kNchw).Equals(chw.Reshaped({1, 2, 2, 3})));
  EXPECT_TRUE(Read(chw, kNhwc).Equals(hwc.Reshaped({1, 2, 3, 2})));
  QB_ASSERT_OK_AND_ASSIGN(const SampleReading reading, ChooseReading(hwc.type(), kNchw));
  EXPECT_EQ(reading.note, "HWC read as NCHW");
}

TEST(ChooseReading, ConvertsNumbersToFloat) {
  const InputSpec spec{"x", {DType::kFloat32, {4}}};
  const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7bff};
  EXPECT_THAT(Read(Tensor::Of<uint16_t>(DType::kFloat16, {4}, halves), spec).values<float>(),
              ElementsAre(1.0f, -2.0f, std::ldexp(1.0f, -24), 65504.0f));
  const int64_t integers[] = {-3, 0, 7, 1 << 20};
  EXPECT_THAT(Read(Tensor::Of<int64_t>(DType::kInt64, {4}, integers), spec).values<float>(),
              ElementsAre(-3.0f, 0.0f, 7.0f, 1048576.0f));
}

TEST(ChooseReading, RefusesOtherShapesAndNarrowing) {
  EXPECT_THAT(ChooseReading({DType::kFloat32, {1, 2, 2, 4}}, kNchw),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("found float32[1x2x2x4], expected float32[1x2x2x3]")));
  const InputSpec integers{"ids", {DType::kInt32, {4}}};
  EXPECT_FALSE(ChooseReading({DType::kInt64, {4}}, integers).ok());
  EXPECT_FALSE(ChooseReading({DType::kFloat32, {4}}, integers).ok());
}

TEST(FirstNonFinite, FindsThePlace) {
  std::vector<float> values(10000, 1.0f);
  EXPECT_EQ(FirstNonFinite(Tensor::OfFloats({10000}, values)), -1);
  values[9000] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(FirstNonFinite(Tensor::OfFloats({10000}, values)), 9000);
  values[5] = std::nanf("");
  EXPECT_EQ(FirstNonFinite(Tensor::OfFloats({10000}, values)), 5);
}

}  // namespace
}  // namespace qb

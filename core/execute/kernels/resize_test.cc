#include <gmock/gmock.h>

#include "core/execute/testing/graph_value.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;
using testing::ValuesOf;

constexpr char kImage[] = "x = InputConstant float32[1x1x2x2] [1, 2, 3, 4]";

TEST(Resize, NearestFollowsRoundingAndTransform) {
  EXPECT_THAT(ValuesOf(kImage, R"(Resize(x) {transform_mode="asymmetric", nearest_mode="floor",
                                  sizes=[1, 1, 2, 4], scales=[1, 1, 1, 2]})"),
              ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
  const char* line = "x = InputConstant float32[1x1x1x4] [1, 2, 3, 4]";
  // half_pixel to 2: coordinates 0.5 and 2.5, both ties.
  EXPECT_THAT(ValuesOf(line, "Resize(x) {sizes=[1, 1, 1, 2], scales=[1.0, 1.0, 1.0, 0.5]}"),
              ElementsAre(1, 3));
  EXPECT_THAT(ValuesOf(line, R"(Resize(x) {nearest_mode="round_prefer_ceil", sizes=[1, 1, 1, 2],
                                scales=[1.0, 1.0, 1.0, 0.5]})"),
              ElementsAre(2, 4));
  EXPECT_THAT(ValuesOf(line, R"(Resize(x) {nearest_mode="ceil", transform_mode="asymmetric",
                                sizes=[1, 1, 1, 6], scales=[1.0, 1.0, 1.0, 1.5]})"),
              ElementsAre(1, 2, 3, 3, 4, 4));
}

// Expected values below are those of the ONNX operator tests (resize_upsample_scales_linear and
// _align_corners, resize_upsample_scales_cubic).
TEST(Resize, LinearInterpolates) {
  EXPECT_THAT(
      ValuesOf(kImage, R"(Resize(x) {mode="linear", sizes=[1, 1, 4, 4],
                                  scales=[1, 1, 2, 2]})"),
      ElementsAre(1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4));
  EXPECT_THAT(ValuesOf(kImage, R"(Resize(x) {mode="linear", transform_mode="align_corners",
                                  sizes=[1, 1, 4, 4], scales=[1, 1, 2, 2]})"),
              Pointwise(FloatNear(1e-5f), {1.0f, 1.3333333f, 1.6666667f, 2.0f, 1.6666667f, 2.0f,
                                           2.3333333f, 2.6666667f, 2.3333333f, 2.6666667f, 3.0f,
                                           3.3333333f, 3.0f, 3.3333333f, 3.6666667f, 4.0f}));
}

TEST(Resize, CubicInterpolates) {
  const std::vector<float> values = ValuesOf(
      "x = InputConstant float32[1x1x4x4] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]",
      R"(Resize(x) {mode="cubic", sizes=[1, 1, 8, 8], scales=[1, 1, 2, 2]})");
  ASSERT_EQ(values.size(), 64u);
  EXPECT_THAT(std::vector<float>(values.begin(), values.begin() + 8),
              Pointwise(FloatNear(1e-5f), {0.47265625f, 0.76953125f, 1.24609375f, 1.875f, 2.28125f,
                                           2.91015625f, 3.38671875f, 3.68359375f}));
}

TEST(Resize, ResultIsTheSameInBothLayouts) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const std::string attributes = absl::StrCat(R"(mode=")", mode, R"(", )");
    const std::vector<float> first =
        ValuesOf("x = InputConstant float32[1x3x5x4] random(8)",
                 absl::StrCat("Resize(x) {", attributes,
                              "sizes=[1, 3, 7, 9], scales=[1.0, 1.0, 1.4, 2.25]}"));
    const std::vector<float> last = ValuesOf(
        "v = InputConstant float32[1x3x5x4] random(8)\n"
        "t = Transpose(v) {transpose_axes=[0, 2, 3, 1]}\n" +
            absl::StrCat("s = Resize(t) {", attributes,
                         "sizes=[1, 7, 9, 3], scales=[1.0, 1.4, 2.25, 1.0]}"),
        "Transpose(s) {transpose_axes=[0, 3, 1, 2]}");
    EXPECT_EQ(first, last) << mode;
  }
}

TEST(Resize, ToTheSameSizeCopies) {
  EXPECT_THAT(
      ValuesOf(kImage, R"(Resize(x) {mode="linear", sizes=[1, 1, 2, 2], scales=[1, 1, 1, 1]})"),
      ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace qb

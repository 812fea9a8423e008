#include "core/ops/convolution.h"

#include "core/base/testing/status_matchers.h"
#include "core/ops/testing/op_samples.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TypeOf;

constexpr char kImage[] = R"(
  x = Input float32[1x4x9x7]
  l = Input float32[1x9x7x4]
  w = InputConstant float32[6x4x3x3] splat(1)
  wl = InputConstant float32[6x3x3x4] splat(1)
  wg = InputConstant float32[6x2x3x3] splat(1)
  wd = InputConstant float32[8x1x3x3] splat(1)
  b = InputConstant float32[6] splat(0)
  b5 = InputConstant float32[5] splat(0)
  i = InputConstant int32[6x4x3x3] splat(0)
)";

Shape ShapeOf(absl::string_view expression) {
  const absl::StatusOr<TensorType> type = TypeOf(kImage, expression);
  EXPECT_TRUE(type.ok()) << type.status();
  return type.ok() ? type->shape : Shape();
}

TEST(Convolution, Shapes) {
  EXPECT_EQ(ShapeOf("Convolution(x, w) {h_kernel=3, w_kernel=3}"), Shape({1, 6, 7, 5}));
  EXPECT_EQ(ShapeOf("Convolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, "
                    "south_padding=1, west_padding=2, h_stride=2, w_stride=3}"),
            Shape({1, 6, 5, 3}));
  EXPECT_EQ(ShapeOf("Convolution(x, w) {h_kernel=3, w_kernel=3, h_dilation=4, w_dilation=3}"),
            Shape({1, 6, 1, 1}));
  EXPECT_EQ(ShapeOf("Convolution(l, wl, b) {h_kernel=3, w_kernel=3, channel_last=true}"),
            Shape({1, 7, 5, 6}));
  EXPECT_EQ(ShapeOf("Convolution(x, wg) {h_kernel=3, w_kernel=3, group_number=2}"),
            Shape({1, 6, 7, 5}));
  // Depthwise with two outputs a channel.
  EXPECT_EQ(ShapeOf("Convolution(x, wd) {h_kernel=3, w_kernel=3, group_number=4}"),
            Shape({1, 8, 7, 5}));
}

void ExpectRefused(absl::string_view expression, absl::string_view message) {
  EXPECT_THAT(TypeOf(kImage, expression),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(message))))
      << expression;
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  ExpectRefused("Convolution(x, wl) {h_kernel=3, w_kernel=3}", "weights are 6x3x3x4");
  ExpectRefused("Convolution(x, w) {h_kernel=3, w_kernel=2}", "a window of 3x2");
  ExpectRefused("Convolution(x, w, b5) {h_kernel=3, w_kernel=3}", "the bias is 5; accepted: 6");
  ExpectRefused("Convolution(x, i) {h_kernel=3, w_kernel=3}", "operand 1 is int32");
  ExpectRefused("Convolution(x, b) {h_kernel=3, w_kernel=3}", "accepted: rank 4");
  ExpectRefused("Convolution(x, w) {h_kernel=3, w_kernel=3, group_number=3}", "does not divide");
  ExpectRefused("Convolution(x, w) {h_kernel=3, w_kernel=3, group_number=0}", "does not divide");
  ExpectRefused("Convolution(x, w) {h_kernel=3, w_kernel=3, h_stride=0}", "h_stride is 0");
  ExpectRefused("Convolution(x, w) {h_kernel=3, w_kernel=3, west_padding=-1}", "is -1");
  ExpectRefused("Convolution(x, w) {h_kernel=3, w_kernel=3, h_dilation=5}", "does not fit into 9");
  ExpectRefused("Convolution(x, w) {h_kernel=3, w_kernel=3, w_dilation=4611686018427387904}",
                "w_dilation is");
  ExpectRefused(
      R"(Convolution(x, w) {h_kernel=3, w_kernel=3, activation="clip", activation_min=nan})",
      "not a number");
}

}  // namespace
}  // namespace qb

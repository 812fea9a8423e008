#include "core/ops/transpose_convolution.h"

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
  b = InputConstant float32[6] splat(0)
  b5 = InputConstant float32[5] splat(0)
  i = InputConstant int32[6x4x3x3] splat(0)
)";

Shape ShapeOf(absl::string_view expression) {
  const absl::StatusOr<TensorType> type = TypeOf(kImage, expression);
  EXPECT_TRUE(type.ok()) << type.status();
  return type.ok() ? type->shape : Shape();
}

TEST(TransposeConvolution, Shapes) {
  EXPECT_EQ(ShapeOf("TransposeConvolution(x, w) {h_kernel=3, w_kernel=3}"), Shape({1, 6, 11, 9}));
  EXPECT_EQ(ShapeOf("TransposeConvolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, "
                    "south_padding=1, west_padding=2, h_stride=2, w_stride=3, "
                    "south_out_padding=1, east_out_padding=2}"),
            Shape({1, 6, 18, 21}));
  EXPECT_EQ(
      ShapeOf("TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, h_dilation=4, w_dilation=3}"),
      Shape({1, 6, 17, 13}));
  EXPECT_EQ(ShapeOf("TransposeConvolution(l, wl, b) {h_kernel=3, w_kernel=3, h_stride=2, "
                    "channel_last=true}"),
            Shape({1, 19, 9, 6}));
  EXPECT_EQ(ShapeOf("TransposeConvolution(x, wg) {h_kernel=3, w_kernel=3, group_number=2}"),
            Shape({1, 6, 11, 9}));
}

void ExpectRefused(absl::string_view expression, absl::string_view message) {
  EXPECT_THAT(TypeOf(kImage, expression),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(message))))
      << expression;
}

TEST(TransposeConvolution, RefusesWhatDoesNotFit) {
  ExpectRefused("TransposeConvolution(x, wl) {h_kernel=3, w_kernel=3}", "weights are 6x3x3x4");
  ExpectRefused("TransposeConvolution(x, w) {h_kernel=3, w_kernel=2}", "a window of 3x2");
  ExpectRefused("TransposeConvolution(x, w, b5) {h_kernel=3, w_kernel=3}", "the bias is 5");
  ExpectRefused("TransposeConvolution(x, i) {h_kernel=3, w_kernel=3}", "operand 1 is int32");
  ExpectRefused("TransposeConvolution(x, b) {h_kernel=3, w_kernel=3}", "accepted: rank 4");
  ExpectRefused("TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, group_number=3}",
                "does not divide");
  ExpectRefused("TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, h_stride=0}", "h_stride is 0");
  ExpectRefused("TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, west_padding=-1}", "is -1");
  ExpectRefused("TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, south_out_padding=-1}",
                "h_out_padding is -1");
  ExpectRefused(
      "TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, north_padding=6, south_padding=5}",
      "leave nothing");
  ExpectRefused(
      "TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, w_dilation=4611686018427387904}",
      "w_dilation is");
  ExpectRefused(
      R"(TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, activation="clip",
         activation_min=nan})",
      "not a number");
}

TEST(PRelu, SlopeFitsTheOperand) {
  constexpr char kOperands[] = R"(
    x = Input float32[1x4x9x7]
    c = InputConstant float32[4x1x1] splat(1)
    wide = InputConstant float32[2x4x1x1] splat(1)
    l = InputConstant float32[4] splat(1)
    i = InputConstant int32[4x1x1] splat(1)
    t = Input bool[4x1x1]
  )";
  const absl::StatusOr<TensorType> type = TypeOf(kOperands, "PRelu(x, c)");
  ASSERT_TRUE(type.ok()) << type.status();
  EXPECT_EQ(type->shape, Shape({1, 4, 9, 7}));
  const auto refused = [&](absl::string_view expression, const char* message) {
    EXPECT_THAT(TypeOf(kOperands, expression),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << expression;
  };
  refused("PRelu(x, wide)", "does not broadcast to 1x4x9x7");
  refused("PRelu(x, l)", "broadcast");
  refused("PRelu(x, i)", "accepted: the operand's float32");
  refused("PRelu(t, t)", "accepted: a numeric type");
}

}  // namespace
}  // namespace qb

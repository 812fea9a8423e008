#include "core/ops/pooling.h"

#include "core/base/testing/status_matchers.h"
#include "core/ops/testing/op_samples.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TypeOf;

// The result's height of a pooling over a column of `height` pixels.
int64_t HeightOf(int64_t height, absl::string_view attributes) {
  const absl::StatusOr<TensorType> type =
      TypeOf(absl::StrCat("x = Input float32[1x2x", height, "x1]"),
             absl::StrCat("Pooling(x) {", attributes, "}"));
  EXPECT_TRUE(type.ok()) << type.status();
  return type.ok() ? type->shape[2] : -1;
}

TEST(Pooling, FloorAndCeil) {
  EXPECT_EQ(HeightOf(6, "h_kernel=3, h_stride=2"), 2);
  EXPECT_EQ(HeightOf(6, "h_kernel=3, h_stride=2, is_ceil_mode=true"), 3);
  EXPECT_EQ(HeightOf(7, "h_kernel=3, h_stride=2, is_ceil_mode=true"), 3);
  EXPECT_EQ(HeightOf(112, "h_kernel=3, h_stride=2, north_padding=1, south_padding=1"), 56);
  EXPECT_EQ(HeightOf(5, "h_kernel=2, h_dilation=3"), 2);
}

// (2 + 2 - 2) / 3 is 0.67: a second window would start at padded row 3, behind the pixels in rows 1
// and 2.
TEST(Pooling, CeilDropsAWindowThatStartsInThePadding) {
  EXPECT_EQ(HeightOf(2,
                     "h_kernel=2, h_stride=3, north_padding=1, south_padding=1, "
                     "is_ceil_mode=true"),
            1);
  // A pixel more, and row 3 is one.
  EXPECT_EQ(HeightOf(3, "h_kernel=2, h_stride=3, north_padding=1, is_ceil_mode=true"), 2);
}

TEST(Pooling, RefusesWhatDoesNotFit) {
  constexpr char kX[] = "x = Input float32[1x2x4x4]  i = Input int8[1x2x4x4]";
  EXPECT_THAT(TypeOf(kX, "Pooling(x) {h_kernel=5}"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not fit")));
  EXPECT_THAT(TypeOf(kX, "Pooling(x) {h_kernel=2, north_padding=2}"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not smaller than")));
  EXPECT_THAT(TypeOf(kX, "Pooling(i)"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("float type of rank 4")));
  EXPECT_THAT(TypeOf(kX, R"(Pooling(x) {pool_type="median"})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no value 'median'")));
}

TEST(GlobalAveragePooling, BothLayouts) {
  constexpr char kX[] = "x = Input float32[1x2x4x5]  e = Input float32[1x2x0x5]";
  EXPECT_EQ(TypeOf(kX, "GlobalAveragePooling(x)")->shape, Shape({1, 2, 1, 1}));
  EXPECT_EQ(TypeOf(kX, "GlobalAveragePooling(x) {channel_last=true}")->shape, Shape({1, 1, 1, 5}));
  EXPECT_FALSE(TypeOf(kX, "GlobalAveragePooling(e)").ok());
}

}  // namespace
}  // namespace qb

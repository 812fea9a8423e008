#include "core/ops/movement.h"

#include "core/base/testing/status_matchers.h"
#include "core/ops/testing/op_samples.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TypeOf;

constexpr char kOperands[] = R"(
  x = Input float32[1x4x6x8]
  y = Input float32[1x2x6x8]
  i = Input int64[2x3]
  f = Input float32[2]
)";

Shape ShapeOf(absl::string_view expression) {
  const absl::StatusOr<TensorType> type = TypeOf(kOperands, expression);
  EXPECT_TRUE(type.ok()) << expression << ": " << type.status();
  return type.ok() ? type->shape : Shape({-1});
}

void ExpectRefused(absl::string_view expression, absl::string_view message) {
  EXPECT_THAT(TypeOf(kOperands, expression),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(message))))
      << expression;
}

TEST(Reshape, NeedsAsManyElements) {
  EXPECT_EQ(ShapeOf("Reshape(x) {new_shape=[4, 48]}"), Shape({4, 48}));
  ExpectRefused("Reshape(x) {new_shape=[4, 47]}", "has 188 elements; accepted: 192");
  ExpectRefused("Reshape(x) {new_shape=[-1, 192]}", "negative");
  ExpectRefused("Reshape(x) {new_shape=[4294967296, 4294967296]}", "2^40");
}

TEST(Transpose, NeedsAPermutation) {
  EXPECT_EQ(ShapeOf("Transpose(x) {transpose_axes=[0, 2, 3, 1]}"), Shape({1, 6, 8, 4}));
  ExpectRefused("Transpose(x) {transpose_axes=[0, 2, 2, 1]}", "an order of the 4 axes");
  ExpectRefused("Transpose(x) {transpose_axes=[0, 1, 2]}", "an order of the 4 axes");
  ExpectRefused("Transpose(x) {transpose_axes=[0, 1, 2, 9]}", "an order of the 4 axes");
}

TEST(Concatenate, SumsOneAxis) {
  EXPECT_EQ(ShapeOf("Concatenate(x, y, x) {axis=1}"), Shape({1, 10, 6, 8}));
  ExpectRefused("Concatenate(x, y) {axis=2}", "operand 1");
  ExpectRefused("Concatenate(x, f) {axis=1}", "operand 1");
  ExpectRefused("Concatenate(x, x) {axis=4}", "axis 4");
}

TEST(Slice, CountsForwardAndBackward) {
  EXPECT_EQ(ShapeOf("Slice(x) {axis=[3], start=[1], end=[8], step=[3]}"), Shape({1, 4, 6, 3}));
  EXPECT_EQ(ShapeOf("Slice(x) {axis=[3], start=[7], end=[-1], step=[-1]}"), Shape({1, 4, 6, 8}));
  EXPECT_EQ(ShapeOf("Slice(x) {axis=[3], start=[7], end=[0], step=[-2]}"), Shape({1, 4, 6, 4}));
  EXPECT_EQ(ShapeOf("Slice(x) {axis=[1], start=[2], end=[2], step=[1]}"), Shape({1, 0, 6, 8}));
  EXPECT_EQ(ShapeOf("Slice(x) {axis=[3], start=[7], end=[-1], step=[-9223372036854775808]}"),
            Shape({1, 4, 6, 1}));
  ExpectRefused("Slice(x) {axis=[3], start=[1], end=[9], step=[1]}", "an axis of 8");
  ExpectRefused("Slice(x) {axis=[3], start=[1], end=[2], step=[0]}", "a step that is not 0");
  ExpectRefused("Slice(x) {axis=[3, 3], start=[0, 0], end=[1, 1], step=[1, 1]}", "sliced twice");
  ExpectRefused("Slice(x) {axis=[3], start=[0], end=[1]}", "equally many");
}

TEST(Pad, AddsAndCrops) {
  EXPECT_EQ(ShapeOf("Pad(x) {padding_list=[0, 0, 1, 2, 0, 0, 3, -1]}"), Shape({1, 4, 10, 9}));
  ExpectRefused("Pad(x) {padding_list=[0, 0, 1]}", "accepted: 8");
  ExpectRefused("Pad(x) {padding_list=[0, 0, -7, 0, 0, 0, 0, 0]}", "padding (-7, 0)");
  ExpectRefused(R"(Pad(x) {padding_list=[0, 4, 0, 0, 0, 0, 0, 0], pad_mode="reflect"})",
                "only 4 elements");
  ExpectRefused("Pad(x) {padding_list=[0, 9223372036854775807, 0, 0, 0, 1, 0, 0]}", "padding (");
}

TEST(Expand, FollowsBroadcasting) {
  EXPECT_EQ(ShapeOf("Expand(f) {shape=[3, 2]}"), Shape({3, 2}));
  ExpectRefused("Expand(x) {shape=[4, 1, 8]}", "cannot be expanded");
}

TEST(Gather, InsertsTheShapeOfTheIndices) {
  EXPECT_EQ(ShapeOf("Gather(x, i) {axis=2}"), Shape({1, 4, 2, 3, 8}));
  ExpectRefused("Gather(x, f)", "int32 or int64");
  ExpectRefused("Gather(x, i) {axis=-1}", "axis -1");
}

TEST(Resize, TakesSizesAndScales) {
  EXPECT_EQ(ShapeOf("Resize(x) {sizes=[1, 4, 12, 16], scales=[1, 1, 2, 2]}"),
            Shape({1, 4, 12, 16}));
  ExpectRefused("Resize(x) {sizes=[1, 4, 12, 16]}", "one an axis");
  ExpectRefused("Resize(x) {sizes=[1, 4, 12, 16], scales=[1, 1, 0, 2]}", "a factor above 0");
  ExpectRefused(R"(Resize(x) {sizes=[1, 4, 6, 8], scales=[1, 1, 1, 1], transform_mode="tf"})",
                "transform_mode is 'tf'");
}

TEST(DepthSpace, BothWaysAndLayouts) {
  EXPECT_EQ(ShapeOf("DepthToSpace(x) {block_size=2}"), Shape({1, 1, 12, 16}));
  EXPECT_EQ(ShapeOf("SpaceToDepth(x) {block_size=2}"), Shape({1, 16, 3, 4}));
  EXPECT_EQ(ShapeOf("DepthToSpace(x) {block_size=2, channel_last=true}"), Shape({1, 8, 12, 2}));
  ExpectRefused("DepthToSpace(y) {block_size=2}", "a multiple of 4");
  ExpectRefused("SpaceToDepth(x) {block_size=4}", "multiples of 4");
  ExpectRefused(R"(SpaceToDepth(x) {block_size=2, order="crd"})", "accepted: 'dcr'");
  ExpectRefused("DepthToSpace(x) {block_size=4294967296}", "block_size");
}

}  // namespace
}  // namespace qb

// Types and refusals of the operators that compare, search, index, select and sample.
#include "core/ops/indexing.h"

#include "core/base/testing/status_matchers.h"
#include "core/ops/testing/op_samples.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TypeOf;

constexpr char kOperands[] = R"(
  x = Input float32[2x3x4]
  y = Input float32[3x1]
  t = Input bool[3x4]
  i = Input int64[2x3x1]
  j = Input int32[2x2]
  f = Input float32[2x4]
  h = Input int32[4]
  image = Input float32[1x3x8x8]
  grid = Input float32[1x5x6x2]
  rois = Input float32[7x4]
  batch = Input int64[7]
  boxes = Input float32[2x10x4]
  scores = Input float32[2x5x10]
  n = Input int64[scalar]
)";

std::string TypeText(absl::string_view expression) {
  const absl::StatusOr<TensorType> type = TypeOf(kOperands, expression);
  EXPECT_TRUE(type.ok()) << expression << ": " << type.status();
  return type.ok() ? type->ToString() : "";
}

void ExpectRefused(absl::string_view expression, absl::string_view message) {
  EXPECT_THAT(TypeOf(kOperands, expression),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(message))))
      << expression;
}

TEST(InferLogic, BroadcastsToTruthValues) {
  EXPECT_EQ(TypeText("TensorCmp(x, y)"), "bool[2x3x4]");
  EXPECT_EQ(TypeText("Where(t, x, y)"), "float32[2x3x4]");
  ExpectRefused("TensorCmp(x, t)", "accepted: one type");
  ExpectRefused("Where(x, x, y)", "accepted: bool and twice one type");
  ExpectRefused("Logical(x, x)", "accepted: bool");
  ExpectRefused("Logical(t)", "it has 1 operands; accepted: 2");
  ExpectRefused("Bitwise(x, x)", "accepted: one integer type");
  ExpectRefused("Mod(x, x)", "with fmod one numeric type");
}

TEST(InferSearch, KeepsOrDropsTheAxis) {
  EXPECT_EQ(TypeText("ArgMax(x) {axis=1}"), "int64[2x1x4]");
  EXPECT_EQ(TypeText("ArgMin(x) {axis=1, keep_dims=false}"), "int64[2x4]");
  EXPECT_EQ(TypeText("TopKValues(x) {axis=2, k=3}"), "float32[2x3x3]");
  ExpectRefused("ArgMax(t) {axis=0}", "an axis >= 0 of a numeric type");
  ExpectRefused("TopKIndices(x) {axis=2, k=5}", "k is 5; accepted: 0 to 4");
  ExpectRefused("CumSum(x) {axis=3}", "axis 3 of float32[2x3x4]");
}

TEST(InferIndexing, ShapesFollowTheIndices) {
  EXPECT_EQ(TypeText("GatherElements(x, i) {axis=2}"), "float32[2x3x1]");
  EXPECT_EQ(TypeText("GatherND(x, j)"), "float32[2x4]");
  EXPECT_EQ(TypeText("GatherND(x, i) {batch_dims=2}"), "float32[2x3]");
  EXPECT_EQ(TypeText("ScatterND(x, j, f)"), "float32[2x3x4]");
  EXPECT_EQ(TypeText("ReverseSequence(x, h) {batch_axis=2, time_axis=1}"), "float32[2x3x4]");
  ExpectRefused("GatherElements(x, j) {axis=0}", "the same rank");
  ExpectRefused("GatherElements(x, x) {axis=0}", "accepted: int32 or int64");
  ExpectRefused("GatherND(x, i) {batch_dims=3}", "equal batch axes");
  ExpectRefused("ScatterND(x, j, x)", "updates are float32[2x3x4]; accepted: float32[2x4]");
  ExpectRefused("ScatterElements(x, i, x) {axis=2}", "accepted: float32[2x3x1]");
  ExpectRefused("ReverseSequence(x, h) {batch_axis=1, time_axis=1}", "two axes");
}

TEST(InferSelection, HasRoomForTheMost) {
  EXPECT_EQ(TypeText("NonZero(x)"), "int64[3x24]");
  EXPECT_EQ(TypeText("Unique(x) {axis=1}"), "int64[3]");
  EXPECT_EQ(TypeText("NonMaxSuppression(boxes, scores) {max_output_size=3}"), "int64[30x3]");
  EXPECT_EQ(TypeText("Trim(x, n) {axis=2}"), "float32[2x3x4]");
  ExpectRefused("Trim(x, n) {axis=3}", "an axis >= 0 and an int64 scalar");
  ExpectRefused("CountUsed(x)", "int64 of rank 1 or 2");
  ExpectRefused("NonMaxSuppression(scores, boxes)", "[batch, n, 4]");
}

TEST(InferSampling, ImagesAtPlaces) {
  EXPECT_EQ(TypeText("GridSample(image, grid)"), "float32[1x3x5x6]");
  EXPECT_EQ(TypeText("RoiAlign(image, rois, batch) {output_height=2, output_width=3}"),
            "float32[7x3x2x3]");
  EXPECT_EQ(TypeText("PoolingIndices(image) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2}"),
            "int64[1x3x4x4]");
  EXPECT_EQ(TypeText("Det(image)"), "float32[1x3]");
  ExpectRefused("GridSample(image, rois)", "[N, ..., places]");
  ExpectRefused("RoiAlign(image, rois, batch) {output_height=0}", "for 0x1 bins");
  ExpectRefused("PoolingIndices(image) {channel_last=true}", "the channels before the pixels");
  ExpectRefused("Det(x)", "square matrices");
}

}  // namespace
}  // namespace qb

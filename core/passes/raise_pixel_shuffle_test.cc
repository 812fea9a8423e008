#include "core/passes/raise_pixel_shuffle.h"

#include "core/ops/movement.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph Spelled(absl::string_view input, absl::string_view split, absl::string_view axes,
              absl::string_view result) {
  return ParseBody(absl::StrCat("x = Input float32[", input, "]\ns = Reshape(x) {new_shape=[",
                                split, "]}\nt = Transpose(s) {transpose_axes=[", axes,
                                "]}\nr = Reshape(t) {new_shape=[", result, "]}\ny = Output(r)"));
}

struct Case {
  const char *input, *split, *axes, *result;
  OpKind op;
  DepthOrder order;
  bool channel_last;
};

TEST(RaisePixelShuffle, EverySpelling) {
  for (const Case& c : {
           Case{"1x12x3x5", "1, 3, 2, 2, 3, 5", "0, 1, 4, 2, 5, 3", "1, 3, 6, 10",
                OpKind::kDepthToSpace, DepthOrder::kCrd, false},
           Case{"1x12x3x5", "1, 2, 2, 3, 3, 5", "0, 3, 4, 1, 5, 2", "1, 3, 6, 10",
                OpKind::kDepthToSpace, DepthOrder::kDcr, false},
           Case{"1x3x5x12", "1, 3, 5, 2, 2, 3", "0, 1, 3, 2, 4, 5", "1, 6, 10, 3",
                OpKind::kDepthToSpace, DepthOrder::kDcr, true},
           Case{"1x2x6x9", "1, 2, 2, 3, 3, 3", "0, 3, 5, 1, 2, 4", "1, 18, 2, 3",
                OpKind::kSpaceToDepth, DepthOrder::kDcr, false},
       }) {
    SCOPED_TRACE(c.axes);
    Graph graph = Spelled(c.input, c.split, c.axes, c.result);
    EXPECT_TRUE(ExpectPassPreservesResults(graph, RaisePixelShuffle));
    ASSERT_EQ(ResultOf(graph).op(), c.op);
    EXPECT_EQ(ResultOf(graph).name(), "r");
    EXPECT_EQ(ResultOf(graph).operand(0)->name(), "x");
    EXPECT_EQ(ResultOf(graph).attrs<DepthSpaceAttrs>().order, c.order);
    EXPECT_EQ(ResultOf(graph).attrs<DepthSpaceAttrs>().channel_last, c.channel_last);
  }
}

TEST(RaisePixelShuffle, LeavesSimilarGraphsAlone) {
  // rows and columns swapped
  ExpectPassLeavesAlone(Spelled("1x12x3x5", "1, 3, 2, 2, 3, 5", "0, 1, 5, 2, 4, 3", "1, 3, 10, 6"),
                        RaisePixelShuffle);
  // blocks that are not square
  ExpectPassLeavesAlone(Spelled("1x12x3x5", "1, 2, 2, 3, 3, 5", "0, 1, 4, 2, 5, 3", "1, 2, 6, 15"),
                        RaisePixelShuffle);
  // the result has other dimensions
  ExpectPassLeavesAlone(Spelled("1x12x3x5", "1, 3, 2, 2, 3, 5", "0, 1, 4, 2, 5, 3", "1, 6, 3, 10"),
                        RaisePixelShuffle);
  // channels shuffled in groups
  ExpectPassLeavesAlone(Spelled("1x12x4x4", "1, 3, 4, 2, 2, 4", "0, 2, 1, 3, 4, 5", "1, 12, 4, 4"),
                        RaisePixelShuffle);
}

}  // namespace
}  // namespace qb

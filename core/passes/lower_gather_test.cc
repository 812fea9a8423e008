#include "core/passes/lower_gather.h"

#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view indices) {
  return ParseBody(absl::StrCat("x = Input float32[2x6x3]\n i = InputConstant ", indices,
                                "\n r = Gather(x, i) {axis=1}\n y = Output(r)"));
}

TEST(LowerGather, EvenStepsBecomeASlice) {
  for (const char* indices :
       {"int64[scalar] [2]", "int64[scalar] [-6]", "int32[1] [5]", "int64[3] [0, 2, 4]",
        "int64[6] [-1, -2, -3, -4, -5, -6]", "int64[2] [4, 1]", "int32[3] [-3, 4, 5]"}) {
    SCOPED_TRACE(indices);
    Graph graph = GraphOf(indices);
    EXPECT_TRUE(ExpectPassPreservesResults(graph, LowerGather));
    EXPECT_EQ(CountOps(graph, OpKind::kGather), 0);
    EXPECT_EQ(CountOps(graph, OpKind::kInputConstant), 0);
    EXPECT_EQ(ResultOf(graph).name(), "r");
  }
}

TEST(LowerGather, LeavesAlone) {
  for (const char* indices :
       {"int64[3] [0, 1, 3]", "int64[2] [1, 1]", "int64[2x2] [0, 1, 2, 3]", "int64[0] []"}) {
    SCOPED_TRACE(indices);
    ExpectPassLeavesAlone(GraphOf(indices), LowerGather);
  }
  Graph outside = GraphOf("int64[1] [6]");
  QB_ASSERT_OK_AND_ASSIGN(const bool changed, LowerGather(outside));
  EXPECT_FALSE(changed);
}

}  // namespace
}  // namespace qb

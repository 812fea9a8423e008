#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::HasSubstr;

// Axes as attribute or input, as the opset has it.
std::string ReduceText(const std::string& op_type, int64_t opset, bool as_input,
                       const std::vector<int64_t>& axes) {
  ModelBuilder model(opset);
  model.Input("x", {1, 2, 3}).Output("y");
  model.Ints("axes", axes);
  NodeBuilder node = as_input ? model.Node(op_type, {"x", "axes"}, {"y"})
                              : model.Node(op_type, {"x"}, {"y"}).Ints("axes", axes);
  node.Int("keepdims", 0);
  return model.Text();
}

TEST(ImportReduce, AxesMovedToAnInput) {
  constexpr char kResult[] = "{keep_dims=false, reduce_axes=[0, 2]}";
  EXPECT_THAT(ReduceText("ReduceMean", 17, false, {-1, 0}), HasSubstr(kResult));
  EXPECT_THAT(ReduceText("ReduceMean", 18, true, {-1, 0}), HasSubstr(kResult));
  EXPECT_THAT(ReduceText("ReduceSum", 12, false, {-1, 0}), HasSubstr(kResult));
  EXPECT_THAT(ReduceText("ReduceSum", 13, true, {-1, 0}), HasSubstr(kResult));
  EXPECT_THAT(ReduceText("ReduceSum", 13, false, {0}), HasSubstr("attribute 'axes' is not known"));
  EXPECT_THAT(ReduceText("ReduceMax", 17, true, {0}), HasSubstr("input 1 ('axes') is not known"));
}

TEST(ImportReduce, WrongAxesAreRefused) {
  EXPECT_THAT(ReduceText("ReduceMin", 13, false, {3}), HasSubstr("axis 3"));
  EXPECT_THAT(ReduceText("ReduceMin", 13, false, {1, -2}), HasSubstr("axis 1 is listed twice"));
}

TEST(ImportReduce, WithoutAxesAllOrNone) {
  for (const int64_t noop : {0, 1}) {
    ModelBuilder model(18);
    model.Input("x", {1, 2, 3}).Output("y");
    model.Node("ReduceMax", {"x"}, {"y"}).Int("noop_with_empty_axes", noop);
    EXPECT_THAT(model.Text(), HasSubstr(noop == 1 ? "y = Output(x)" : "reduce_axes=[0, 1, 2]"));
  }
}

}  // namespace
}  // namespace qb::testing

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ImportConcat, AxisFromTheEnd) {
  ModelBuilder model(13);
  model.Input("x", {1, 2}).Input("z", {1, 3}).Output("y");
  model.Node("Concat", {"x", "z", "x"}, {"y"}).Int("axis", -1);
  EXPECT_THAT(model.Text(), HasSubstr("y = Concatenate(x, z, x) {axis=1}"));
  EXPECT_THAT(model.Text(), HasSubstr("float32[1x7]"));
}

TEST(ImportConcat, AxisIsNeeded) {
  ModelBuilder model(13);
  model.Input("x", {1, 2}).Output("y");
  model.Node("Concat", {"x", "x"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("attribute 'axis' is missing"));
}

enum class SplitForm { kAttribute, kInput, kEqual, kNumOutputs };

std::string SplitText(int64_t opset, SplitForm form, int64_t dim, const std::vector<int64_t>& sizes,
                      size_t outputs) {
  ModelBuilder model(opset);
  model.Input("x", {1, dim});
  model.Ints("split", sizes);
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i) {
    names.push_back("y" + std::to_string(i));
    model.Output(names.back());
  }
  NodeBuilder node = form == SplitForm::kInput ? model.Node("Split", {"x", "split"}, names)
                                               : model.Node("Split", {"x"}, names);
  node.Int("axis", 1);
  if (form == SplitForm::kAttribute) {
    node.Ints("split", sizes);
  }
  if (form == SplitForm::kNumOutputs) {
    node.Int("num_outputs", static_cast<int64_t>(outputs));
  }
  return model.Text();
}

TEST(ImportSplit, EveryFormBecomesSlices) {
  const std::vector<std::string> texts = {SplitText(12, SplitForm::kAttribute, 5, {2, 3}, 2),
                                          SplitText(13, SplitForm::kInput, 5, {2, 3}, 2)};
  for (const std::string& text : texts) {
    EXPECT_THAT(text, HasSubstr("y0 = Slice(x) {axis=[1], start=[0], end=[2], step=[1]}"));
    EXPECT_THAT(text, HasSubstr("y1 = Slice(x) {axis=[1], start=[2], end=[5], step=[1]}"));
  }
  EXPECT_THAT(SplitText(11, SplitForm::kEqual, 6, {}, 3),
              HasSubstr("y2 = Slice(x) {axis=[1], start=[4], end=[6]"));
  EXPECT_THAT(SplitText(18, SplitForm::kNumOutputs, 7, {}, 3),
              HasSubstr("y2 = Slice(x) {axis=[1], start=[6], end=[7]"));
  EXPECT_THAT(SplitText(13, SplitForm::kEqual, 6, {}, 1), HasSubstr("y0 = Output(x)"));
}

TEST(ImportSplit, SizesHaveToAddUp) {
  EXPECT_THAT(SplitText(13, SplitForm::kInput, 5, {2, 4}, 2), HasSubstr("split is [2, 4]"));
  EXPECT_THAT(SplitText(13, SplitForm::kInput, 5, {-1, 6}, 2), HasSubstr("split is [-1, 6]"));
  EXPECT_THAT(SplitText(13, SplitForm::kInput, 5, {5}, 2), HasSubstr("for 2 outputs"));
  EXPECT_THAT(SplitText(13, SplitForm::kEqual, 5, {}, 2), HasSubstr("2 equal parts"));
}

struct SliceCase {
  std::vector<int64_t> starts, ends, axes, steps;
};

std::vector<float> RunSlice(const SliceCase& slice) {
  ModelBuilder model(13);
  model.Input("x", {1, 5}).Output("y");
  model.Ints("starts", slice.starts).Ints("ends", slice.ends);
  model.Ints("axes", slice.axes).Ints("steps", slice.steps);
  model.Node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 5}, {0, 1, 2, 3, 4})});
  return outputs.empty() ? std::vector<float>() : FloatsOf(outputs[0]);
}

TEST(ImportSlice, BoundsAreClampedAsInOnnx) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(RunSlice({{1}, {kMost}, {1}, {1}}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(RunSlice({{-3}, {-1}, {-1}, {1}}), ElementsAre(2, 3));
  EXPECT_THAT(RunSlice({{-1}, {kLeast}, {1}, {-1}}), ElementsAre(4, 3, 2, 1, 0));
  EXPECT_THAT(RunSlice({{kMost}, {kLeast}, {1}, {-2}}), ElementsAre(4, 2, 0));
  EXPECT_THAT(RunSlice({{-2}, {0}, {1}, {-1}}), ElementsAre(3, 2, 1));
  EXPECT_THAT(RunSlice({{kLeast}, {kMost}, {1}, {kMost}}), ElementsAre(0));
  EXPECT_THAT(RunSlice({{4}, {2}, {1}, {1}}), ElementsAre());
  EXPECT_THAT(RunSlice({{0}, {5}, {1}, {kLeast}}), ElementsAre());
}

TEST(ImportSlice, AttributeFormUntilOpset9) {
  ModelBuilder model(9);
  model.Input("x", {1, 5}).Output("y");
  model.Node("Slice", {"x"}, {"y"}).Ints("starts", {0, 1}).Ints("ends", {1, 3});
  EXPECT_THAT(model.Text(), HasSubstr("y = Slice(x) {axis=[1], start=[1], end=[3], step=[1]}"));
}

TEST(ImportSlice, WrongListsAreRefused) {
  const auto text = [](const SliceCase& slice) {
    ModelBuilder model(13);
    model.Input("x", {1, 5}).Output("y");
    model.Ints("starts", slice.starts).Ints("ends", slice.ends);
    model.Ints("axes", slice.axes).Ints("steps", slice.steps);
    model.Node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
    return model.Text();
  };
  EXPECT_THAT(text({{0}, {1}, {1}, {0}}), HasSubstr("a step is 0"));
  EXPECT_THAT(text({{0, 0}, {1}, {1}, {1}}), HasSubstr("equally many"));
  EXPECT_THAT(text({{0, 0}, {1, 1}, {1, -1}, {1, 1}}), HasSubstr("axis 1 is listed twice"));
  EXPECT_THAT(text({{0}, {1}, {7}, {1}}), HasSubstr("axis 7"));
}

TEST(ImportSlice, ComputedBoundsAreRefusedByName) {
  ModelBuilder model(13);
  model.Input("x", {1, 5}).Input("s", {1}, onnx::TensorProto::INT64).Output("y");
  model.Ints("ends", {3});
  model.Node("Slice", {"x", "s", "ends"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("input 's' (starts) depends on an input of the model"));
}

}  // namespace
}  // namespace qb::testing

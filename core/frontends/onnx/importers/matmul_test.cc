#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// y = Gemm(a [2, 3], b, c) with b and c as constants or inputs.
struct GemmCase {
  bool constant_b = true;
  std::vector<int64_t> c_dims = {2};
  std::vector<float> c = {10, 20};
};

ModelBuilder GemmModel(const GemmCase& gemm, NodeBuilder* node) {
  ModelBuilder model(13);
  model.Input("a", {2, 3}).Output("y");
  if (gemm.constant_b) {
    model.Floats("b", {3, 2}, {1, 2, 3, 4, 5, 6});
  } else {
    model.Input("b", {3, 2});
  }
  if (!gemm.c.empty()) {
    model.Floats("c", gemm.c_dims, gemm.c);
  }
  *node = model.Node("Gemm", {"a", "b", gemm.c.empty() ? "" : "c"}, {"y"});
  return model;
}

std::vector<float> RunGemm(const ModelBuilder& model, const GemmCase& gemm) {
  std::vector<Tensor> inputs = {Tensor::OfFloats({2, 3}, {1, 0, 0, 0, 1, 1})};
  if (!gemm.constant_b) {
    inputs.push_back(Tensor::OfFloats({3, 2}, {1, 2, 3, 4, 5, 6}));
  }
  const std::vector<Tensor> outputs = model.Run(inputs);
  return outputs.empty() ? std::vector<float>() : FloatsOf(outputs[0]);
}

TEST(ImportGemm, PlainFormIsOneProductWithBias) {
  NodeBuilder node(nullptr);
  const GemmCase gemm;
  const ModelBuilder model = GemmModel(gemm, &node);
  EXPECT_THAT(model.Text(), HasSubstr("y = MatMul(a, b, c)"));
  EXPECT_THAT(RunGemm(model, gemm), ElementsAre(11, 22, 18, 30));
}

TEST(ImportGemm, AlphaAndBetaGoIntoConstants) {
  NodeBuilder node(nullptr);
  const GemmCase gemm;
  ModelBuilder model = GemmModel(gemm, &node);
  node.Float("alpha", 2.0f).Float("beta", 0.5f);
  EXPECT_THAT(model.Text(), Not(HasSubstr("Multiply")));
  EXPECT_THAT(RunGemm(model, gemm), ElementsAre(2 + 5, 4 + 10, 16 + 5, 20 + 10));
}

TEST(ImportGemm, AlphaOfComputedMatricesScalesTheProduct) {
  NodeBuilder node(nullptr);
  const GemmCase gemm = {.constant_b = false};
  ModelBuilder model = GemmModel(gemm, &node);
  node.Float("alpha", 2.0f);
  EXPECT_THAT(model.Text(), HasSubstr("Multiply"));
  EXPECT_THAT(RunGemm(model, gemm), ElementsAre(12, 24, 26, 40));
}

TEST(ImportGemm, EveryShapeOfC) {
  NodeBuilder node(nullptr);
  const GemmCase scalar = {.c_dims = {}, .c = {1}};
  EXPECT_THAT(GemmModel(scalar, &node).Text(), HasSubstr("y = MatMul(a, b, "));
  EXPECT_THAT(RunGemm(GemmModel(scalar, &node), scalar), ElementsAre(2, 3, 9, 11));
  const GemmCase row = {.c_dims = {1, 2}, .c = {1, 2}};
  EXPECT_THAT(RunGemm(GemmModel(row, &node), row), ElementsAre(2, 4, 9, 12));
  const GemmCase column = {.c_dims = {2, 1}, .c = {1, 2}};
  EXPECT_THAT(GemmModel(column, &node).Text(), HasSubstr("y = Adding("));
  EXPECT_THAT(RunGemm(GemmModel(column, &node), column), ElementsAre(2, 3, 10, 12));
  const GemmCase none = {.c = {}};
  EXPECT_THAT(RunGemm(GemmModel(none, &node), none), ElementsAre(1, 2, 8, 10));
  const GemmCase too_large = {.c_dims = {3, 2, 2}, .c = std::vector<float>(12, 1.0f)};
  EXPECT_THAT(GemmModel(too_large, &node).Text(), HasSubstr("does not broadcast to 2x2"));
}

TEST(ImportGemm, TransposesBothOperands) {
  ModelBuilder model(13);
  model.Input("a", {3, 2}).Output("y");
  model.Floats("b", {2, 3}, {1, 3, 5, 2, 4, 6});
  model.Node("Gemm", {"a", "b"}, {"y"}).Int("transA", 1).Int("transB", 1);
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({3, 2}, {1, 0, 0, 1, 0, 1})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(1, 2, 8, 10));
}

TEST(ImportGemm, OnlyMatricesAreAccepted) {
  ModelBuilder model(13);
  model.Input("a", {1, 2, 3}).Output("y");
  model.Floats("b", {3, 2}, {1, 2, 3, 4, 5, 6});
  model.Node("Gemm", {"a", "b"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("ERROR: node 'y' (Gemm): A has shape 1x2x3 and B 3x2"));
}

TEST(ImportMatMul, TakesBatches) {
  ModelBuilder model(13);
  model.Input("a", {1, 4, 2, 3}).Output("y");
  model.Floats("b", {3, 5}, std::vector<float>(15, 1.0f));
  model.Node("MatMul", {"a", "b"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("float32[1x4x2x5]"));
}

}  // namespace
}  // namespace qb::testing

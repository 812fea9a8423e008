#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Einsum(const std::string& equation, const std::vector<Tensor>& operands) {
  ModelBuilder model(13);
  std::vector<std::string> names;
  for (const Tensor& operand : operands) {
    names.push_back("x" + std::to_string(names.size()));
    model.Input(names.back(), operand.shape().dims());
  }
  model.Output("y");
  model.Node("Einsum", names, {"y"}).String("equation", equation);
  return model.Run(operands).at(0);
}

const Tensor& Square() {
  static const Tensor& square = *new Tensor(Tensor::OfFloats({2, 2}, {1, 2, 3, 4}));
  return square;
}

TEST(ImportEinsum, ProductsSumsAndOrders) {
  EXPECT_THAT(FloatsOf(Einsum("ij,jk->ik", {Square(), Square()})), ElementsAre(7, 10, 15, 22));
  EXPECT_THAT(FloatsOf(Einsum("ij,jk", {Square(), Square()})), ElementsAre(7, 10, 15, 22));
  EXPECT_THAT(FloatsOf(Einsum("ij->ji", {Square()})), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(FloatsOf(Einsum("ij->", {Square()})), ElementsAre(10));
  EXPECT_THAT(FloatsOf(Einsum("ij,ij->ij", {Square(), Square()})), ElementsAre(1, 4, 9, 16));
  const Tensor row = Tensor::OfFloats({2}, {10, 100});
  EXPECT_THAT(FloatsOf(Einsum("i,j->ji", {row, row})), ElementsAre(100, 1000, 1000, 10000));
  EXPECT_THAT(FloatsOf(Einsum("ij,jk,k->i", {Square(), Square(), row})), ElementsAre(1070, 2350));
}

TEST(ImportEinsum, DiagonalsAndEllipses) {
  EXPECT_THAT(FloatsOf(Einsum("ii->i", {Square()})), ElementsAre(1, 4));
  EXPECT_THAT(FloatsOf(Einsum("ii", {Square()})), ElementsAre(5));
  const Tensor batch = Tensor::OfFloats({2, 1, 2}, {1, 2, 3, 4});
  EXPECT_THAT(FloatsOf(Einsum("...ij,jk->...ik", {batch, Square()})), ElementsAre(7, 10, 15, 22));
  // The ellipsis of one operand is longer, and its axes of 1 repeat.
  EXPECT_THAT(FloatsOf(Einsum("...i,...i->...", {batch, Square()})), ElementsAre(5, 11, 11, 25));
}

TEST(ImportEinsum, WrongEquationsAreRefused) {
  const auto text = [](const std::string& equation) {
    ModelBuilder model(13);
    model.Input("x", {2, 3}).Output("y");
    model.Node("Einsum", {"x"}, {"y"}).String("equation", equation);
    return model.Text();
  };
  EXPECT_THAT(text("ijk->i"), HasSubstr("does not fit an operand of rank 2"));
  EXPECT_THAT(text("ij,j->i"), HasSubstr("has not 1 terms"));
  EXPECT_THAT(text("ij->k"), HasSubstr("a label twice or from nowhere"));
  EXPECT_THAT(text("i1->i"), HasSubstr("the equation has '1'"));
  EXPECT_THAT(text("ii->i"), HasSubstr("shares its label"));
}

}  // namespace
}  // namespace qb::testing

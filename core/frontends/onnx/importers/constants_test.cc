#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int32_t kInt64 = onnx::TensorProto::INT64;
constexpr int32_t kBool = onnx::TensorProto::BOOL;

TEST(ImportConstant, EveryFormOfTheValue) {
  ModelBuilder model(13);
  model.Output("a").Output("b").Output("c").Output("d", kInt64).Output("e", kInt64);
  model.Node("Constant", {}, {"a"}).TensorOf("value", {2}, {1, 2});
  model.Node("Constant", {}, {"b"}).Float("value_float", 3);
  model.Node("Constant", {}, {"c"}).Floats("value_floats", {4, 5});
  model.Node("Constant", {}, {"d"}).Int("value_int", 6);
  model.Node("Constant", {}, {"e"}).Ints("value_ints", {7, 8, 9});
  const std::string text = model.Text();
  EXPECT_THAT(text, HasSubstr("a = InputConstant float32[2] [1.0, 2.0]"));
  EXPECT_THAT(text, HasSubstr("b = InputConstant float32[scalar]"));
  EXPECT_THAT(text, HasSubstr("c = InputConstant float32[2] [4.0, 5.0]"));
  EXPECT_THAT(text, HasSubstr("d = InputConstant int64[scalar]"));
  EXPECT_THAT(text, HasSubstr("e = InputConstant int64[3] [7, 8, 9]"));
}

TEST(ImportConstant, StringsAreRefused) {
  ModelBuilder model(13);
  model.Output("a");
  model.Node("Constant", {}, {"a"}).String("value_string", "text");
  EXPECT_THAT(model.Text(),
              HasSubstr("ERROR: node 'a' (Constant): the value is missing or of a kind"));
}

// The chain that exporters write for x.view(x.size(0), -1) and x[:, :, :h // 2].
TEST(ConstantFolding, ShapeArithmeticVanishes) {
  ModelBuilder model(13);
  model.Input("x", {1, 3, 8, 4}).Output("y").Output("z");
  model.Floats("zero_f", {}, {0}).Ints("i0", {0}).Ints("i2", {2}).Ints("minus", {-1});
  model.Ints("two", {2}).Ints("start", {0});
  model.Node("Shape", {"x"}, {"s"});
  model.Node("Gather", {"s", "i0"}, {"n"}).Int("axis", 0);
  model.Node("Concat", {"n", "minus"}, {"target"}).Int("axis", 0);
  model.Node("Reshape", {"x", "target"}, {"y"});
  model.Node("Gather", {"s", "i2"}, {"h"});
  model.Node("Cast", {"h"}, {"hf"}).Int("to", onnx::TensorProto::FLOAT);
  model.Node("Constant", {}, {"half"}).TensorOf("value", {1}, {2});
  model.Node("Div", {"hf", "half"}, {"quotient"});
  model.Node("Floor", {"quotient"}, {"floored"});
  model.Node("Cast", {"floored"}, {"end"}).Int("to", kInt64);
  model.Node("Slice", {"x", "start", "end", "two"}, {"z"});
  const std::string text = model.Text();
  EXPECT_THAT(text, HasSubstr("y = Reshape(x) {new_shape=[1, 96]}"));
  EXPECT_THAT(text, HasSubstr("z = Slice(x) {axis=[2], start=[0], end=[4], step=[1]}"));
  EXPECT_THAT(text, Not(HasSubstr("InputConstant")));
  EXPECT_THAT(text, Not(HasSubstr("Gather")));
}

// expand(-1, ...) as PyTorch exports it: ConstantOfShape, Mul, Equal, Where.
TEST(ConstantFolding, ExpandWithWhere) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 4}).Output("y");
  model.Ints("want", {-1, 3, -1}).Ints("minus", {-1}).Ints("rank", {3});
  NodeBuilder fill = model.Node("ConstantOfShape", {"rank"}, {"ones"});
  onnx::AttributeProto* value = fill.proto().add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(kInt64);
  value->mutable_t()->add_dims(1);
  value->mutable_t()->add_int64_data(1);
  model.Node("Mul", {"ones", "minus"}, {"marks"});
  model.Node("Equal", {"want", "marks"}, {"open"});
  model.Node("Where", {"open", "ones", "want"}, {"shape"});
  model.Node("Expand", {"x", "shape"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("y = Expand(x) {shape=[1, 3, 4]}"));
}

TEST(ImportShape, StartAndEndOfOpset15) {
  const auto text = [](int64_t start, int64_t end) {
    ModelBuilder model(15);
    model.Input("x", {1, 2, 3}).Output("y", kInt64);
    model.Node("Shape", {"x"}, {"y"}).Int("start", start).Int("end", end);
    return model.Text();
  };
  EXPECT_THAT(text(1, -1), HasSubstr("y = InputConstant int64[1] [2]"));
  EXPECT_THAT(text(-9, 9), HasSubstr("int64[3] [1, 2, 3]"));
  EXPECT_THAT(text(2, 1), HasSubstr("int64[0]"));
}

TEST(ImportSize, CountsElements) {
  ModelBuilder model(13);
  model.Input("x", {1, 2, 3}).Output("y", kInt64);
  model.Node("Size", {"x"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("y = InputConstant int64[scalar]"));
}

TEST(ImportRange, CountsAndTypes) {
  const auto text = [](const std::vector<int64_t>& v) {
    ModelBuilder model(13);
    model.Output("y", kInt64);
    model.Ints("s", {v[0]}).Ints("l", {v[1]}).Ints("d", {v[2]});
    model.Node("Range", {"s", "l", "d"}, {"y"});
    return model.Text();
  };
  EXPECT_THAT(text({3, 9, 3}), HasSubstr("int64[2] [3, 6]"));
  EXPECT_THAT(text({10, 4, -2}), HasSubstr("int64[3] [10, 8, 6]"));
  EXPECT_THAT(text({3, 1, 1}), HasSubstr("int64[0]"));
  EXPECT_THAT(text({0, 1, 0}), HasSubstr("is not possible"));
  EXPECT_THAT(text({0, int64_t{1} << 60, 1}), HasSubstr("is not possible"));
  EXPECT_THAT(text({0, -(int64_t{1} << 62), 1}), HasSubstr("int64[0]"));
}

TEST(ImportConstantOfShape, HugeResultsAreRefused) {
  ModelBuilder model(13);
  model.Output("y");
  model.Ints("dims", {100000, 10000});
  model.Node("ConstantOfShape", {"dims"}, {"y"});
  EXPECT_THAT(model.Text(),
              HasSubstr("ERROR: node 'y' (ConstantOfShape): the constant would have 1000000000"));
}

TEST(ImportConstantOfShape, NegativeDimensionsAreRefused) {
  ModelBuilder model(13);
  model.Output("y");
  model.Ints("dims", {-1, 4});
  model.Node("ConstantOfShape", {"dims"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("a dimension is negative"));
}

TEST(ConstantFolding, HugeExpansionsAreRefused) {
  ModelBuilder model(13);
  model.Output("y");
  model.Floats("one", {1}, {1}).Ints("dims", {100000, 10000});
  model.Node("Expand", {"one", "dims"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("the constant result has 4000000000 bytes"));
}

TEST(ConstantFolding, ManyLargeConstantsAreRefused) {
  ModelBuilder model(13);
  model.Output("sum");
  model.Ints("dims", {16, 1024, 1024});
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) {
    names.push_back("c" + std::to_string(i));
    model.Node("ConstantOfShape", {"dims"}, {names.back()});
  }
  model.Node("Concat", names, {"sum"}).Int("axis", 0);
  EXPECT_THAT(model.Text(), HasSubstr("constants computed at import exceed"));
}

TEST(ImportComparison, BroadcastsAndNegates) {
  ModelBuilder model(13);
  model.Output("less", kBool).Output("not", kBool).Output("both", kBool);
  model.Ints("a", {1, 2, 3}).Ints("b", {2});
  model.Node("Less", {"a", "b"}, {"less"});
  model.Node("Not", {"less"}, {"not"});
  model.Node("And", {"less", "not"}, {"both"});
  const std::string text = model.Text();
  EXPECT_THAT(text, HasSubstr("less = InputConstant bool[3] [1, 0, 0]"));
  EXPECT_THAT(text, HasSubstr("not = InputConstant bool[3] [0, 1, 1]"));
  EXPECT_THAT(text, HasSubstr("both = InputConstant bool[3] [0, 0, 0]"));
}

TEST(ImportReshape, HugeListsAreRefused) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  model.Ints("shape", std::vector<int64_t>(5000, 1));
  model.Node("Reshape", {"x", "shape"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("shape has 5000 elements; at most 4096"));
}

TEST(ImportComparison, ComputedOperandsStayOperators) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("y", kBool);
  model.Floats("a", {3}, {1, 2, 3});
  model.Node("Greater", {"x", "a"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("y = TensorCmp(x, a) {kind=\"gt\"}"));
}

}  // namespace
}  // namespace qb::testing

#include "core/frontends/onnx/onnx_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/digest.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ModelBuilder ReluModel(int64_t opset = 13) {
  ModelBuilder model(opset);
  model.Input("x", {1, 3}).Output("y");
  model.Node("Relu", {"x"}, {"y"});
  return model;
}

FailureCode CodeOf(const ModelBuilder& model) { return FailureCodeOf(model.Import().status()); }

TEST(ImportOnnx, KeepsNamesOrderAndTypesOfInputsAndOutputs) {
  ModelBuilder model(13);
  model.Input("second", {1, 2}, onnx::TensorProto::INT64).Input("first", {1, 3});
  model.Output("b").Output("a", onnx::TensorProto::INT64);
  model.Node("Relu", {"first"}, {"b"});
  model.Node("Add", {"second", "second"}, {"a"});
  QB_ASSERT_OK_AND_ASSIGN(const ImportedModel imported, model.Import());
  const Graph& graph = imported.graph;
  ASSERT_EQ(graph.inputs().size(), 2u);
  EXPECT_EQ(graph.inputs()[0]->name(), "second");
  EXPECT_EQ(graph.inputs()[0]->type(), (TensorType{DType::kInt64, {1, 2}}));
  EXPECT_EQ(graph.inputs()[1]->name(), "first");
  ASSERT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.outputs()[0]->name(), "b");
  EXPECT_EQ(graph.outputs()[1]->name(), "a");
}

TEST(ImportOnnx, ReportsWhereTheModelCameFrom) {
  const ModelBuilder model = ReluModel(12);
  const TempDir folder;
  const std::string path = folder.File("m.onnx");
  std::ofstream(path, std::ios::binary) << model.Bytes();
  QB_ASSERT_OK_AND_ASSIGN(const ImportedModel imported, ImportOnnx(path, {}));
  EXPECT_EQ(imported.source_sha256, Sha256Hex(model.Bytes()));
  EXPECT_EQ(imported.opset, 12);
  EXPECT_EQ(imported.ir_version, 8);
  EXPECT_EQ(imported.producer_name, "test");
  EXPECT_EQ(imported.graph.name(), "g");
}

TEST(ImportOnnx, MissingFileIsAParseError) {
  const absl::Status status = ImportOnnx("/nonexistent/m.onnx", {}).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kModelParseError);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/m.onnx"));
}

TEST(ImportOnnx, FilesOfTwoGigabytesAreRefusedWithAdvice) {
  const TempDir folder;
  const std::string path = folder.File("m.onnx");
  std::ofstream(path).put('x');
  std::filesystem::resize_file(path, uintmax_t{1} << 31);  // sparse
  const absl::Status status = ImportOnnx(path, {}).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kModelParseError);
  EXPECT_THAT(std::string(status.message()), HasSubstr("save it with external data"));
}

TEST(ImportOnnx, RanksAreBounded) {
  ModelBuilder model(13);
  model.Input("x", std::vector<int64_t>(10, 1)).Output("y");
  model.Initializer("i", onnx::TensorProto::INT64, std::vector<int64_t>(10, 1)).add_int64_data(0);
  model.Node("Gather", {"x", "i"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("the result has rank 19; at most 16 is supported"));
}

TEST(ImportOnnx, OpsetsOutsideTheRangeAreRefusedWithTheNumber) {
  EXPECT_THAT(ReluModel(7).Text(), Not(HasSubstr("ERROR")));
  EXPECT_THAT(ReluModel(22).Text(), Not(HasSubstr("ERROR")));
  EXPECT_THAT(ReluModel(6).Text(), HasSubstr("the model uses opset 6; 7 to 22 are supported"));
  EXPECT_THAT(ReluModel(23).Text(), HasSubstr("the model uses opset 23"));
  EXPECT_EQ(CodeOf(ReluModel(23)), FailureCode::kUnsupportedOperator);
}

TEST(ImportOnnx, OpsetImportIsNeededAndUnique) {
  ModelBuilder none = ReluModel();
  none.proto().clear_opset_import();
  EXPECT_THAT(none.Text(), HasSubstr("does not say which version"));
  EXPECT_EQ(CodeOf(none), FailureCode::kModelParseError);
  ModelBuilder two = ReluModel(13);
  onnx::OperatorSetIdProto* second = two.proto().add_opset_import();
  second->set_domain("ai.onnx");
  second->set_version(14);
  EXPECT_THAT(two.Text(), HasSubstr("two versions"));
  ModelBuilder other = ReluModel();
  other.proto().mutable_opset_import(0)->set_domain("ai.onnx.ml");
  EXPECT_THAT(other.Text(), HasSubstr("only the operator set 'ai.onnx.ml'"));
}

TEST(ImportOnnx, AnyIrVersionIsRead) {
  ModelBuilder model = ReluModel();
  model.proto().set_ir_version(99);
  EXPECT_THAT(model.Text(), Not(HasSubstr("ERROR")));
}

TEST(ImportOnnx, AllUnknownOperatorsComeInOneMessage) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("y");
  model.Node("Bernoulli", {"x"}, {"a"}).Named("first_draw");
  model.Node("Bernoulli", {"a"}, {"b"});
  model.Node("FusedConv", {"b"}, {"c"}).proto().set_domain("com.microsoft");
  model.Node("HardSwish", {"c"}, {"y"});  // exists from opset 14
  EXPECT_THAT(model.Text(),
              HasSubstr("ERROR: operators that are not supported (opset 13): Bernoulli (2x, first "
                        "node 'first_draw'), HardSwish (1x, first node 'y'), "
                        "com.microsoft.FusedConv (1x, first node 'c')"));
  EXPECT_EQ(CodeOf(model), FailureCode::kUnsupportedOperator);
}

TEST(ImportOnnx, ListOfUnknownOperatorsIsBounded) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("v150");
  std::string before = "x";
  for (int i = 1; i <= 150; ++i) {
    const std::string value = "v" + std::to_string(i);
    model.Node("Strange" + std::to_string(i), {before}, {value});
    before = value;
  }
  EXPECT_THAT(model.Text(), HasSubstr(" and 50 more"));
}

TEST(ImportOnnx, WhatNoOutputNeedsIsLeftOut) {
  ModelBuilder model = ReluModel();
  model.Node("LSTM", {"x"}, {"unused"});
  model.Floats("w", {2}, {1, 2});
  const std::string text = model.Text();
  EXPECT_THAT(text, AllOf(Not(HasSubstr("ERROR")), Not(HasSubstr("InputConstant"))));
}

TEST(ImportOnnx, InitializersListedAsInputsAreConstants) {
  ModelBuilder model(8);
  model.Input("x", {1, 3}).Input("w", {3}).Output("y");
  model.Floats("w", {3}, {1, 2, 3});
  model.Node("Add", {"x", "w"}, {"y"});
  QB_ASSERT_OK_AND_ASSIGN(const ImportedModel imported, model.Import());
  EXPECT_EQ(imported.graph.inputs().size(), 1u);
}

TEST(ImportOnnx, GivenInputsBecomeConstants) {
  ModelBuilder model(13);
  model.Input("x", {1, 6}).Input("s", {2}, onnx::TensorProto::INT64).Output("y");
  model.Node("Reshape", {"x", "s"}, {"y"});
  ImportOptions options;
  options.constant_inputs["s"] = Tensor::OfInt64s({2}, {2, 3});
  EXPECT_THAT(model.Text(options), HasSubstr("new_shape=[2, 3]"));
  options.constant_inputs["s"] = Tensor::OfFloats({2}, {2, 3});
  EXPECT_THAT(model.Text(options), HasSubstr("input 's' is INT64, its constant value is float32"));
  options.constant_inputs.clear();
  options.constant_inputs["t"] = Tensor::OfInt64s({2}, {2, 3});
  EXPECT_THAT(model.Text(options), HasSubstr("there is no input 't'"));
}

TEST(ImportOnnx, UnsortedNodesAreSorted) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("y");
  model.Node("Relu", {"a"}, {"y"});
  model.Node("Exp", {"x"}, {"a"});
  const std::string text = model.Text();
  EXPECT_LT(text.find("a = Exp(x)"), text.find("y = Relu(a)"));
}

TEST(ImportOnnx, BrokenGraphsAreRefusedWithTheName) {
  ModelBuilder cycle(13);
  cycle.Input("x", {1, 3}).Output("y");
  cycle.Node("Add", {"x", "b"}, {"a"});
  cycle.Node("Add", {"a", "x"}, {"b"}).Named("n2");
  cycle.Node("Relu", {"b"}, {"y"});
  EXPECT_THAT(cycle.Text(), HasSubstr("node 'a' (Add) depends on its own result"));
  ModelBuilder self(13);
  self.Input("x", {1, 3}).Output("y");
  self.Node("Add", {"x", "y"}, {"y"});
  EXPECT_THAT(self.Text(), HasSubstr("node 'y' (Add) depends on its own result"));
  ModelBuilder twice = ReluModel();
  twice.Node("Exp", {"x"}, {"y"});
  EXPECT_THAT(twice.Text(), HasSubstr("value 'y' is defined more than once"));
  ModelBuilder shadow = ReluModel();
  shadow.Floats("y", {1}, {1});
  EXPECT_THAT(shadow.Text(), HasSubstr("value 'y' is defined more than once"));
  ModelBuilder missing(13);
  missing.Output("y");
  missing.Node("Relu", {"x"}, {"y"});
  EXPECT_THAT(missing.Text(), HasSubstr("node 'y' (Relu): input 'x' is neither"));
  ModelBuilder no_output(13);
  no_output.Input("x", {1, 3});
  EXPECT_THAT(no_output.Text(), HasSubstr("the graph has no outputs"));
  ModelBuilder lost_output = ReluModel();
  lost_output.Output("z");
  EXPECT_THAT(lost_output.Text(), HasSubstr("output 'z' of the graph is computed by no node"));
  ModelBuilder same_output = ReluModel();
  same_output.Output("y");
  EXPECT_THAT(same_output.Text(), HasSubstr("output 'y' of the graph is listed twice"));
}

TEST(ImportOnnx, OutputsHaveTheirDeclaredType) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("y", onnx::TensorProto::INT64);
  model.Node("Relu", {"x"}, {"y"});
  EXPECT_THAT(model.Text(),
              HasSubstr("output 'y' is declared as int64, the graph computes float32"));
}

TEST(ImportOnnx, MissingOptionalInputsAndTooManyInputs) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("y");
  model.Node("Relu", {"x", "x"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("input 1 ('x') is not known for opset 13"));
  ModelBuilder none(13);
  none.Input("x", {1, 3}).Output("y");
  none.Node("Relu", {""}, {"y"});
  EXPECT_THAT(none.Text(), HasSubstr("input 0 (X) is missing"));
}

TEST(ImportOnnx, GraphIsTheSameEachTime) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  model.Floats("w", {4, 4}, std::vector<float>(16, 0.5f));
  model.Node("Gemm", {"x", "w"}, {"h"}).Int("transB", 1).Float("alpha", 2);
  model.Node("Relu", {"h"}, {"y"});
  EXPECT_EQ(model.Text(), model.Text());
}

}  // namespace
}  // namespace qb::testing

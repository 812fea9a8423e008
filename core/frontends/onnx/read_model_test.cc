// Hostile and damaged files.
#include "core/frontends/onnx/read_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/base/failure.h"
#include "core/frontends/onnx/onnx_import.h"
#include "core/frontends/onnx/scan_limits.h"
#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::HasSubstr;

std::string ImportText(const std::string& bytes) {
  const absl::StatusOr<ImportedModel> model = ImportOnnxBytes(bytes, "", {});
  return model.ok() ? "OK" : std::string(model.status().message());
}

ModelBuilder ConvModel() {
  ModelBuilder model(13);
  model.Input("x", {1, 2, 5, 5}).Output("y");
  model.Floats("w", {2, 2, 3, 3}, std::vector<float>(36, 1.0f));
  model.Node("Conv", {"x", "w"}, {"y"});
  return model;
}

TEST(ReadModel, EmptyAndForeignFiles) {
  EXPECT_THAT(ImportText(""), HasSubstr("the model file is empty"));
  EXPECT_THAT(ImportText("PK\x03\x04 this is a zip"), HasSubstr("damaged or is not an ONNX model"));
  EXPECT_THAT(ImportText(std::string(1000, '\0')), HasSubstr("damaged or is not an ONNX model"));
  EXPECT_THAT(ImportText("\x08\x07"), HasSubstr("damaged or is not an ONNX model"));
}

TEST(ReadModel, EveryTruncationIsAnError) {
  const std::string bytes = ConvModel().Bytes();
  ASSERT_EQ(ImportText(bytes), "OK");
  for (size_t size = 0; size < bytes.size(); ++size) {
    const absl::StatusOr<ImportedModel> model = ImportOnnxBytes(bytes.substr(0, size), "", {});
    ASSERT_FALSE(model.ok()) << size;
    ASSERT_NE(FailureCodeOf(model.status()), FailureCode::kInternalError) << size;
  }
}

TEST(ReadModel, RandomChangesNeverCrash) {
  const std::string bytes = ConvModel().Bytes();
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string changed = bytes;
    for (int i = 0; i < 3; ++i) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    const absl::StatusOr<ImportedModel> model = ImportOnnxBytes(changed, "", {});
    if (!model.ok()) {
      ASSERT_NE(FailureCodeOf(model.status()), FailureCode::kInternalError) << model.status();
    }
  }
}

TEST(ReadModel, RandomBytesAreRefused) {
  std::mt19937 random(8);
  for (int round = 0; round < 500; ++round) {
    std::string bytes(random() % 300 + 1, '\0');
    for (char& c : bytes) {
      c = static_cast<char>(random());
    }
    ASSERT_FALSE(ImportOnnxBytes(bytes, "", {}).ok());
  }
}

// Subgraphs within subgraphs, far beyond what any stack holds.
TEST(ReadModel, DeepNestingIsRefused) {
  std::string graph;  // the innermost, empty graph
  const auto wrap = [](char tag, const std::string& inner) {
    std::string out(1, tag);
    size_t size = inner.size();
    while (size >= 0x80) {
      out.push_back(static_cast<char>((size & 0x7f) | 0x80));
      size >>= 7;
    }
    out.push_back(static_cast<char>(size));
    return out + inner;
  };
  for (int depth = 0; depth < 2000; ++depth) {
    // graph.node(1) { attribute(5) { g(6) { ... } } }
    graph = wrap(0x0a, wrap(0x2a, wrap(0x32, graph)));
  }
  const std::string model = "\x08\x08" + wrap(0x3a, graph);
  EXPECT_THAT(ImportText(model), HasSubstr("nested deeper"));
}

TEST(ReadModel, TooManyElementsAreRefusedBeforeParsing) {
  std::string nodes;
  for (int64_t i = 0; i <= onnx_import::kMostElements; ++i) {
    nodes += std::string("\x0a\x00", 2);  // an empty node
  }
  EXPECT_FALSE(onnx_import::CheckScanLimits(std::string("\x3a\x80\x80\x80\x04", 5) +
                                            nodes.substr(0, size_t{1} << 23))
                   .ok());
  EXPECT_THAT(ImportText(std::string("\x3a\x82\x80\x80\x04", 5) + nodes),
              HasSubstr("nodes, attributes and values"));
}

TEST(ReadModel, NamesAreBounded) {
  const std::string long_name(5000, 'n');
  ModelBuilder node = ConvModel();
  node.graph().mutable_node(0)->set_name(long_name);
  EXPECT_THAT(node.Text(), HasSubstr("a name of the model has 5000 bytes"));
  ModelBuilder dim(13);
  dim.OpenInput("x", {"1", long_name}).Output("x");
  EXPECT_THAT(dim.Text(), HasSubstr("a name of the model has 5000 bytes"));
  ModelBuilder op = ConvModel();
  op.graph().mutable_node(0)->set_op_type(long_name);
  EXPECT_LT(op.Text().size(), 300u);
}

TEST(ReadTensor, SizesHaveToAgree) {
  ModelBuilder typed(13);
  typed.Output("w").Floats("w", {2, 2}, {1, 2, 3});
  EXPECT_THAT(typed.Text(), HasSubstr("tensor 'w': has 3 values, its shape needs 4"));
  ModelBuilder raw(13);
  raw.Output("w");
  raw.Initializer("w", onnx::TensorProto::FLOAT, {2, 2}).set_raw_data(std::string(15, 'x'));
  EXPECT_THAT(raw.Text(), HasSubstr("tensor 'w': has 15 bytes of raw data, its shape needs 16"));
  ModelBuilder huge(13);
  huge.Output("w");
  huge.Initializer("w", onnx::TensorProto::FLOAT, {int64_t{1} << 30, int64_t{1} << 30});
  EXPECT_THAT(huge.Text(), HasSubstr("more than 2^40 elements"));
  ModelBuilder large(13);  // fits the limit, but the bytes are not there
  large.Output("w");
  large.Initializer("w", onnx::TensorProto::FLOAT, {int64_t{1} << 39});
  EXPECT_THAT(large.Text(), HasSubstr("has 0 values"));
  ModelBuilder negative(13);
  negative.Output("w");
  negative.Initializer("w", onnx::TensorProto::FLOAT, {2, -2});
  EXPECT_THAT(negative.Text(), HasSubstr("tensor 'w': a dimension is negative"));
  ModelBuilder deep(13);
  deep.Output("w");
  deep.Initializer("w", onnx::TensorProto::FLOAT, std::vector<int64_t>(64, 1));
  EXPECT_THAT(deep.Text(), HasSubstr("has rank 64"));
}

TEST(ReadTensor, KindsThatWeLackAreNamed) {
  const auto text = [](int32_t type) {
    ModelBuilder model(13);
    model.Output("w", onnx::TensorProto::UNDEFINED);
    model.Initializer("w", type, {0});
    return model.Text();
  };
  EXPECT_THAT(text(onnx::TensorProto::STRING), HasSubstr("tensor 'w': has element type STRING"));
  EXPECT_THAT(text(22), HasSubstr("element type INT4"));
  EXPECT_THAT(text(1234), HasSubstr("element type type 1234"));
  ModelBuilder sparse = ConvModel();
  sparse.graph().add_sparse_initializer()->mutable_values()->set_name("s");
  EXPECT_THAT(sparse.Text(), HasSubstr("initializer 's' is sparse"));
  ModelBuilder segment(13);
  segment.Output("w");
  segment.Initializer("w", onnx::TensorProto::FLOAT, {1}).mutable_segment()->set_begin(0);
  EXPECT_THAT(segment.Text(), HasSubstr("segments"));
}

// Every element type, in its typed field and as raw bytes.
TEST(ReadTensor, AllTypesInBothForms) {
  struct Row {
    int32_t type;
    std::string raw;  // the value 1
    const char* text;
  };
  const std::vector<Row> rows = {
      {onnx::TensorProto::FLOAT, std::string("\0\0\x80\x3f", 4), "float32[1] [1.0]"},
      {onnx::TensorProto::DOUBLE, std::string("\0\0\0\0\0\0\xf0\x3f", 8), "float64[1] [1.0]"},
      {onnx::TensorProto::INT8, "\x01", "int8[1] [1]"},
      {onnx::TensorProto::UINT8, "\x01", "uint8[1] [1]"},
      {onnx::TensorProto::INT16, std::string("\1\0", 2), "int16[1] [1]"},
      {onnx::TensorProto::UINT16, std::string("\1\0", 2), "uint16[1] [1]"},
      {onnx::TensorProto::INT32, std::string("\1\0\0\0", 4), "int32[1] [1]"},
      {onnx::TensorProto::UINT32, std::string("\1\0\0\0", 4), "uint32[1] [1]"},
      {onnx::TensorProto::INT64, std::string("\1\0\0\0\0\0\0\0", 8), "int64[1] [1]"},
      {onnx::TensorProto::UINT64, std::string("\1\0\0\0\0\0\0\0", 8), "uint64[1] [1]"},
      {onnx::TensorProto::BOOL, "\x07", "bool[1] [1]"},  // any other byte than 0 is true
  };
  for (const Row& row : rows) {
    ModelBuilder raw(13);
    raw.Output("w", row.type);
    raw.Initializer("w", row.type, {1}).set_raw_data(row.raw);
    EXPECT_THAT(raw.Text(), HasSubstr(row.text));
    ModelBuilder typed(13);
    typed.Output("w", row.type);
    onnx::TensorProto& tensor = typed.Initializer("w", row.type, {1});
    if (row.type == onnx::TensorProto::FLOAT) {
      tensor.add_float_data(1);
    } else if (row.type == onnx::TensorProto::DOUBLE) {
      tensor.add_double_data(1);
    } else if (row.type == onnx::TensorProto::INT64) {
      tensor.add_int64_data(1);
    } else if (row.type == onnx::TensorProto::UINT64 || row.type == onnx::TensorProto::UINT32) {
      tensor.add_uint64_data(1);
    } else {
      tensor.add_int32_data(1);
    }
    EXPECT_THAT(typed.Text(), HasSubstr(row.text));
  }
}

TEST(ReadModel, AttributesOfOldFilesMayLackTheirType) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  NodeBuilder node = model.Node("LeakyRelu", {"x"}, {"y"}).Float("alpha", 0.5f);
  node.proto().mutable_attribute(0)->clear_type();
  EXPECT_THAT(model.Text(), HasSubstr("leaky_alpha=0.5"));
}

TEST(ReadModel, FunctionReferencesAndGraphsInAttributesAreRefused) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  NodeBuilder node = model.Node("LeakyRelu", {"x"}, {"y"}).Float("alpha", 0.5f);
  node.proto().mutable_attribute(0)->set_ref_attr_name("a");
  EXPECT_THAT(model.Text(), HasSubstr("attribute 'alpha' has to be a float"));
}

}  // namespace
}  // namespace qb::testing

#include "core/frontends/onnx/testing/model_builder.h"

#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/execute/executor.h"
#include "core/frontends/onnx/onnx_import.h"
#include "core/ops/graph_text.h"
#include "core/ops/verifier.h"

namespace qb::testing {

onnx::AttributeProto* NodeBuilder::Add(const std::string& name,
                                       onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto* attribute = node_->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

NodeBuilder& NodeBuilder::Int(const std::string& name, int64_t value) {
  Add(name, onnx::AttributeProto::INT)->set_i(value);
  return *this;
}

NodeBuilder& NodeBuilder::Ints(const std::string& name, const std::vector<int64_t>& values) {
  onnx::AttributeProto* attribute = Add(name, onnx::AttributeProto::INTS);
  attribute->mutable_ints()->Add(values.begin(), values.end());
  return *this;
}

NodeBuilder& NodeBuilder::Float(const std::string& name, float value) {
  Add(name, onnx::AttributeProto::FLOAT)->set_f(value);
  return *this;
}

NodeBuilder& NodeBuilder::Floats(const std::string& name, const std::vector<float>& values) {
  onnx::AttributeProto* attribute = Add(name, onnx::AttributeProto::FLOATS);
  attribute->mutable_floats()->Add(values.begin(), values.end());
  return *this;
}

NodeBuilder& NodeBuilder::String(const std::string& name, const std::string& value) {
  Add(name, onnx::AttributeProto::STRING)->set_s(value);
  return *this;
}

NodeBuilder& NodeBuilder::TensorOf(const std::string& name, const std::vector<int64_t>& dims,
                                   const std::vector<float>& values) {
  onnx::TensorProto* tensor = Add(name, onnx::AttributeProto::TENSOR)->mutable_t();
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->mutable_dims()->Add(dims.begin(), dims.end());
  tensor->mutable_float_data()->Add(values.begin(), values.end());
  return *this;
}

NodeBuilder& NodeBuilder::Named(const std::string& name) {
  node_->set_name(name);
  return *this;
}

ModelBuilder::ModelBuilder(int64_t opset) {
  model_.set_ir_version(8);
  model_.set_producer_name("test");
  model_.add_opset_import()->set_version(opset);
  model_.mutable_graph()->set_name("g");
}

ModelBuilder& ModelBuilder::Input(const std::string& name, const std::vector<int64_t>& dims,
                                  int32_t type) {
  onnx::ValueInfoProto* input = graph().add_input();
  input->set_name(name);
  onnx::TypeProto::Tensor* tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  onnx::TensorShapeProto* shape = tensor->mutable_shape();
  for (const int64_t dim : dims) {
    onnx::TensorShapeProto::Dimension* out = shape->add_dim();
    if (dim != -1) {
      out->set_dim_value(dim);
    }
  }
  return *this;
}

ModelBuilder& ModelBuilder::OpenInput(const std::string& name,
                                      const std::vector<std::string>& dims) {
  Input(name, {});
  onnx::TypeProto::Tensor* tensor =
      graph().mutable_input(graph().input_size() - 1)->mutable_type()->mutable_tensor_type();
  for (const std::string& dim : dims) {
    int64_t value = 0;
    onnx::TensorShapeProto::Dimension* out = tensor->mutable_shape()->add_dim();
    if (absl::SimpleAtoi(dim, &value)) {
      out->set_dim_value(value);
    } else {
      out->set_dim_param(dim);
    }
  }
  return *this;
}

ModelBuilder& ModelBuilder::Output(const std::string& name, int32_t type) {
  onnx::ValueInfoProto* output = graph().add_output();
  output->set_name(name);
  output->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  return *this;
}

onnx::TensorProto& ModelBuilder::Initializer(const std::string& name, int32_t type,
                                             const std::vector<int64_t>& dims) {
  onnx::TensorProto* tensor = graph().add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  tensor->mutable_dims()->Add(dims.begin(), dims.end());
  return *tensor;
}

ModelBuilder& ModelBuilder::Floats(const std::string& name, const std::vector<int64_t>& dims,
                                   const std::vector<float>& values) {
  Initializer(name, onnx::TensorProto::FLOAT, dims)
      .mutable_float_data()
      ->Add(values.begin(), values.end());
  return *this;
}

ModelBuilder& ModelBuilder::Ints(const std::string& name, const std::vector<int64_t>& values) {
  Initializer(name, onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())})
      .mutable_int64_data()
      ->Add(values.begin(), values.end());
  return *this;
}

NodeBuilder ModelBuilder::Node(const std::string& op_type, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs) {
  onnx::NodeProto* node = graph().add_node();
  node->set_op_type(op_type);
  for (const std::string& input : inputs) {
    node->add_input(input);
  }
  for (const std::string& output : outputs) {
    node->add_output(output);
  }
  return NodeBuilder(node);
}

ImportOptions ModelBuilder::AnyBatch() {
  ImportOptions options;
  options.accept_any_batch = true;
  return options;
}

absl::StatusOr<ImportedModel> ModelBuilder::Import(const ImportOptions& options) const {
  return ImportOnnxBytes(Bytes(), "", options);
}

std::string ModelBuilder::Text(const ImportOptions& options) const {
  const absl::StatusOr<ImportedModel> model = Import(options);
  if (!model.ok()) {
    return absl::StrCat("ERROR: ", model.status().message());
  }
  EXPECT_TRUE(VerifyGraph(model->graph, "import").ok()) << VerifyGraph(model->graph, "import");
  return GraphToText(model->graph);
}

std::vector<Tensor> ModelBuilder::Run(const std::vector<Tensor>& inputs) const {
  const absl::StatusOr<ImportedModel> model = Import();
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) {
    return {};
  }
  const absl::StatusOr<std::vector<Tensor>> outputs = RunOnce(model->graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs : std::vector<Tensor>();
}

std::vector<float> FloatsOf(const Tensor& tensor) {
  const absl::Span<const float> values = tensor.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace qb::testing

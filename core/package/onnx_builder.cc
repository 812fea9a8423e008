#include "core/package/onnx_builder.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"

namespace qb {
namespace {

constexpr int64_t kMostBytes = (int64_t{1} << 31) - 1;
constexpr int kInt4 = 22;  // of TensorProto.DataType since IR version 10

void FillType(const TensorType& type, onnx::TypeProto* proto) {
  onnx::TypeProto::Tensor* tensor = proto->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int>(type.dtype));
  onnx::TensorShapeProto* shape = tensor->mutable_shape();
  for (const int64_t dim : type.shape) {
    shape->add_dim()->set_dim_value(dim);
  }
}

struct AttributeFiller {
  onnx::AttributeProto* proto;

  void operator()(bool value) const { (*this)(static_cast<int64_t>(value)); }
  void operator()(int64_t value) const {
    proto->set_type(onnx::AttributeProto::INT);
    proto->set_i(value);
  }
  void operator()(float value) const {
    proto->set_type(onnx::AttributeProto::FLOAT);
    proto->set_f(value);
  }
  void operator()(const std::string& value) const {
    proto->set_type(onnx::AttributeProto::STRING);
    proto->set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto->set_type(onnx::AttributeProto::INTS);
    proto->mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<float>& values) const {
    proto->set_type(onnx::AttributeProto::FLOATS);
    proto->mutable_floats()->Add(values.begin(), values.end());
  }
};

// The IR version that an operator set came with.
int64_t IrVersionFor(int64_t opset) { return opset >= 21 ? 10 : opset >= 15 ? 8 : 7; }

}  // namespace

struct OnnxBuilder::State {
  onnx::ModelProto model;
  int64_t opset = 0;
  int64_t constant_bytes = 0;
  absl::flat_hash_set<std::string> taken;
  absl::flat_hash_map<std::string, int64_t> next_number;
};

OnnxBuilder::OnnxBuilder(absl::string_view graph_name, int64_t opset)
    : state_(std::make_unique<State>()) {
  state_->opset = opset;
  state_->model.set_ir_version(IrVersionFor(opset));
  state_->model.set_producer_name("qbcompiler");
  onnx::OperatorSetIdProto* set = state_->model.add_opset_import();
  set->set_domain("");
  set->set_version(opset);
  state_->model.mutable_graph()->set_name(std::string(graph_name));
}

OnnxBuilder::~OnnxBuilder() = default;

int64_t OnnxBuilder::opset() const { return state_->opset; }

void OnnxBuilder::Reserve(absl::string_view name) { state_->taken.insert(std::string(name)); }

std::string OnnxBuilder::UniqueName(absl::string_view wanted) {
  std::string name(wanted);
  if (!name.empty() && state_->taken.insert(name).second) {
    return name;
  }
  int64_t& number = state_->next_number[name];
  std::string numbered;
  do {
    numbered = absl::StrCat(wanted, "_", ++number);
  } while (!state_->taken.insert(numbered).second);
  return numbered;
}

std::string OnnxBuilder::AddInput(absl::string_view name, const TensorType& type) {
  onnx::ValueInfoProto* info = state_->model.mutable_graph()->add_input();
  info->set_name(std::string(name));
  FillType(type, info->mutable_type());
  return std::string(name);
}

void OnnxBuilder::AddOutput(absl::string_view name, const std::string& value,
                            const TensorType& type) {
  onnx::GraphProto* graph = state_->model.mutable_graph();
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type("Identity");
  node->set_name(absl::StrCat(name, "/output"));
  node->add_input(value);
  node->add_output(std::string(name));
  onnx::ValueInfoProto* info = graph->add_output();
  info->set_name(std::string(name));
  FillType(type, info->mutable_type());
}

std::string OnnxBuilder::AddNode(absl::string_view op, absl::string_view name,
                                 const std::vector<std::string>& operands,
                                 const std::vector<NamedAttr>& attributes) {
  std::string result = UniqueName(name);
  onnx::NodeProto* node = state_->model.mutable_graph()->add_node();
  node->set_op_type(std::string(op));
  node->set_name(result);
  for (const std::string& operand : operands) {
    node->add_input(operand);
  }
  for (const NamedAttr& attribute : attributes) {
    onnx::AttributeProto* proto = node->add_attribute();
    proto->set_name(attribute.name);
    std::visit(AttributeFiller{proto}, attribute.value);
  }
  node->add_output(result);
  return result;
}

std::string OnnxBuilder::AddConstant(absl::string_view name, const Tensor& value) {
  std::string result = UniqueName(name);
  state_->constant_bytes += value.size_bytes();
  if (state_->constant_bytes > kMostBytes) {
    return result;  // Finish refuses
  }
  onnx::TensorProto* proto = state_->model.mutable_graph()->add_initializer();
  proto->set_name(result);
  proto->set_data_type(static_cast<int>(value.dtype()));
  for (const int64_t dim : value.shape()) {
    proto->add_dims(dim);
  }
  proto->set_raw_data(value.raw(), static_cast<size_t>(value.size_bytes()));
  return result;
}

std::string OnnxBuilder::AddFloats(absl::string_view name, Shape shape,
                                   const std::vector<float>& values) {
  return AddConstant(name, Tensor::OfFloats(std::move(shape), values));
}

std::string OnnxBuilder::AddInt64s(absl::string_view name, const std::vector<int64_t>& values) {
  return AddConstant(name, Tensor::OfInt64s({static_cast<int64_t>(values.size())}, values));
}

std::string OnnxBuilder::AddInt4s(absl::string_view name, const Shape& shape,
                                  const std::vector<int8_t>& values) {
  std::string result = UniqueName(name);
  onnx::TensorProto* proto = state_->model.mutable_graph()->add_initializer();
  proto->set_name(result);
  proto->set_data_type(kInt4);
  for (const int64_t dim : shape) {
    proto->add_dims(dim);
  }
  std::string bytes((values.size() + 1) / 2, '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const int nibble = static_cast<uint8_t>(values[i]) & 0x0F;
    bytes[i / 2] =
        static_cast<char>(static_cast<uint8_t>(bytes[i / 2]) | (i % 2 == 0 ? nibble : nibble << 4));
  }
  state_->constant_bytes += static_cast<int64_t>(bytes.size());
  proto->set_raw_data(std::move(bytes));
  return result;
}

absl::StatusOr<std::string> OnnxBuilder::Finish() {
  const size_t bytes =
      state_->constant_bytes > kMostBytes ? SIZE_MAX : state_->model.ByteSizeLong();
  if (bytes > static_cast<size_t>(kMostBytes)) {
    return absl::ResourceExhaustedError(
        "the model is larger than 2 GiB, the most that an ONNX file without external data can "
        "hold");
  }
  std::string text;
  google::protobuf::io::StringOutputStream stream(&text);
  {
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    state_->model.SerializeToCodedStream(&coded);
  }
  return text;
}

}  // namespace qb

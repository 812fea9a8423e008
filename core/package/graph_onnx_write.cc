#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"

#include "core/ops/convolution.h"
#include "core/ops/op_def.h"
#include "core/ops/transpose_convolution.h"
#include "core/package/graph_onnx.h"
#include "core/package/graph_onnx_names.h"

namespace qb {
namespace {

constexpr size_t kAlignment = 64;

// The name of each node's value in the file. A value that is an output bears the output's name;
// another node that happens to have that name steps aside.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph) {
    absl::flat_hash_set<std::string> taken;
    for (const Node* output : graph.outputs()) {
      taken.insert(output->name());
    }
    for (const Node* node : graph.nodes()) {
      if (node->op() == OpKind::kOutput) {
        continue;
      }
      std::string name = node->name();
      while (!taken.insert(name).second) {
        absl::StrAppend(&name, "__value");
      }
      names_[node] = std::move(name);
    }
  }
  const std::string& Of(const Node* node) const { return names_.at(node); }

 private:
  absl::flat_hash_map<const Node*, std::string> names_;
};

void FillType(const TensorType& type, onnx::TypeProto* proto) {
  onnx::TypeProto::Tensor* tensor = proto->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int>(type.dtype));
  onnx::TensorShapeProto* shape = tensor->mutable_shape();
  for (const int64_t dim : type.shape) {
    shape->add_dim()->set_dim_value(dim);
  }
}

struct AttributeWriter {
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
    for (const int64_t value : values) {
      proto->add_ints(value);
    }
  }
  void operator()(const std::vector<float>& values) const {
    proto->set_type(onnx::AttributeProto::FLOATS);
    for (const float value : values) {
      proto->add_floats(value);
    }
  }
};

void AddAttribute(onnx::NodeProto* proto, const std::string& name, const AttrValue& value) {
  onnx::AttributeProto* attribute = proto->add_attribute();
  attribute->set_name(name);
  std::visit(AttributeWriter{attribute}, value);
}

struct Place {
  absl::string_view file;
  size_t offset;
};

void FillConstant(const Node& node, const std::string& name, const Place& place,
                  onnx::TensorProto* proto) {
  const Tensor& tensor = node.constant();
  proto->set_name(name);
  proto->set_data_type(static_cast<int>(tensor.dtype()));
  for (const int64_t dim : tensor.shape()) {
    proto->add_dims(dim);
  }
  proto->set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    onnx::StringStringEntryProto* entry = proto->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", std::string(place.file));
  add("offset", absl::StrCat(place.offset));
  add("length", absl::StrCat(tensor.size_bytes()));
}

void FillNode(const Node& node, const ValueNames& names, onnx::NodeProto* proto) {
  proto->set_domain(kMbltDomain);
  proto->set_op_type(FileOpType(node));
  proto->set_name(node.name());
  for (const Node* operand : node.operands()) {
    proto->add_input(names.Of(operand));
  }
  for (const NamedAttr& attr : node.attributes().Fields()) {
    AddAttribute(proto, attr.name, attr.value);
  }
  const bool is_transpose = node.op() == OpKind::kTransposeConvolution;
  if (node.op() == OpKind::kConvolution || is_transpose) {
    // Derived from the shapes: for the reader of the file; ignored when read back.
    const bool last = is_transpose ? node.attrs<TransposeConvolutionAttrs>().channel_last
                                   : node.attrs<ConvolutionAttrs>().channel_last;
    AddAttribute(proto, "in_channels", node.operand(0)->shape()[last ? 3 : 1]);
    AddAttribute(proto, "out_channels", node.shape()[last ? 3 : 1]);
  }
}

}  // namespace

std::unique_ptr<SerializedGraph> GraphToOnnx(const Graph& graph, absl::string_view weights_name) {
  auto result = std::make_unique<SerializedGraph>();
  result->padding.assign(kAlignment, '\0');
  const ValueNames names(graph);
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("qbcompiler");
  onnx::OperatorSetIdProto* opset = model.add_opset_import();
  opset->set_domain(kMbltDomain);
  opset->set_version(kMbltOpset);
  onnx::GraphProto* proto = model.mutable_graph();
  proto->set_name(graph.name());
  for (const Node* input : graph.inputs()) {
    onnx::ValueInfoProto* info = proto->add_input();
    info->set_name(names.Of(input));
    FillType(input->type(), info->mutable_type());
  }
  size_t offset = 0;
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() == OpKind::kInput) {
      continue;
    }
    if (node->is_constant()) {
      const Tensor& tensor = node->constant();
      const auto size = static_cast<size_t>(tensor.size_bytes());
      FillConstant(*node, names.Of(node), {weights_name, offset}, proto->add_initializer());
      result->weights.emplace_back(static_cast<const char*>(tensor.raw()), size);
      const size_t padding = (kAlignment - size % kAlignment) % kAlignment;
      result->weights.emplace_back(result->padding.data(), padding);
      offset += size + padding;
      continue;
    }
    onnx::NodeProto* added = proto->add_node();
    FillNode(*node, names, added);
    if (node->op() == OpKind::kOutput) {
      added->add_output(node->name());
    } else {
      added->add_output(names.Of(node));
      onnx::ValueInfoProto* info = proto->add_value_info();
      info->set_name(names.Of(node));
      FillType(node->type(), info->mutable_type());
    }
  }
  // In the declared order, which the order of the layers need not be.
  for (const Node* output : graph.outputs()) {
    onnx::ValueInfoProto* info = proto->add_output();
    info->set_name(output->name());
    FillType(output->type(), info->mutable_type());
  }
  google::protobuf::io::StringOutputStream stream(&result->model);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  model.SerializeToCodedStream(&coded);
  return result;
}

}  // namespace qb

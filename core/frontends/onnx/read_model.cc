#include "core/frontends/onnx/read_model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/onnx_import.h"
#include "core/frontends/onnx/read_tensor.h"
#include "core/frontends/onnx/scan_limits.h"

namespace qb::onnx_import {
namespace {

absl::Status Damaged() {
  return absl::InvalidArgumentError("the file is damaged or is not an ONNX model");
}

absl::Status Parse(absl::string_view bytes, onnx::ModelProto& model) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the model file has ", bytes.size(),
        " bytes and protobuf reads at most 2 GiB; save it with external data (onnx.save_model with "
        "save_as_external_data=True)"));
  }
  if (bytes.empty()) {
    return absl::InvalidArgumentError("the model file is empty");
  }
  QB_RETURN_IF_ERROR(CheckScanLimits(bytes));
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetTotalBytesLimit(std::numeric_limits<int32_t>::max());
  stream.SetRecursionLimit(static_cast<int>(kMostNesting));
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return Damaged();
  }
  return model.has_graph() ? absl::OkStatus() : Damaged();
}

// Names end up in messages and reports, so they may not be as long as the file.
constexpr size_t kLongestName = 1024;

absl::Status CheckName(const std::string& name) {
  if (name.size() > kLongestName) {
    return absl::InvalidArgumentError(
        absl::StrCat("a name of the model has ", name.size(), " bytes ('", name.substr(0, 64),
                     "...'); at most ", kLongestName, " are accepted"));
  }
  return absl::OkStatus();
}

template <typename Names>
absl::Status CheckNameList(const Names& names) {
  for (const std::string& name : names) {
    QB_RETURN_IF_ERROR(CheckName(name));
  }
  return absl::OkStatus();
}

template <typename Values>
absl::Status CheckValueNames(const Values& values) {
  for (const onnx::ValueInfoProto& value : values) {
    QB_RETURN_IF_ERROR(CheckName(value.name()));
    for (const onnx::TensorShapeProto::Dimension& dim : value.type().tensor_type().shape().dim()) {
      QB_RETURN_IF_ERROR(CheckName(dim.dim_param()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const onnx::GraphProto& graph);

absl::Status CheckAttributeNames(const onnx::AttributeProto& attribute) {
  QB_RETURN_IF_ERROR(CheckName(attribute.name()));
  QB_RETURN_IF_ERROR(CheckName(attribute.t().name()));
  return attribute.has_g() ? CheckNames(attribute.g()) : absl::OkStatus();
}

absl::Status CheckNames(const onnx::GraphProto& graph) {
  QB_RETURN_IF_ERROR(CheckName(graph.name()));
  QB_RETURN_IF_ERROR(CheckValueNames(graph.input()));
  QB_RETURN_IF_ERROR(CheckValueNames(graph.output()));
  for (const onnx::TensorProto& initializer : graph.initializer()) {
    QB_RETURN_IF_ERROR(CheckName(initializer.name()));
  }
  for (const onnx::NodeProto& node : graph.node()) {
    QB_RETURN_IF_ERROR(CheckName(node.name()));
    QB_RETURN_IF_ERROR(CheckName(node.op_type()));
    QB_RETURN_IF_ERROR(CheckName(node.domain()));
    QB_RETURN_IF_ERROR(CheckNameList(node.input()));
    QB_RETURN_IF_ERROR(CheckNameList(node.output()));
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      QB_RETURN_IF_ERROR(CheckAttributeNames(attribute));
    }
  }
  return absl::OkStatus();
}

bool IsDefaultDomain(absl::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

absl::StatusOr<int64_t> DefaultOpset(const onnx::ModelProto& model) {
  int64_t opset = 0;
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    if (!IsDefaultDomain(import.domain())) {
      continue;
    }
    if (opset != 0 && opset != import.version()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model imports two versions of the default operator set: ", opset,
                       " and ", import.version()));
    }
    opset = import.version();
  }
  if (opset == 0 && model.opset_import_size() > 0) {
    return absl::UnimplementedError(absl::StrCat("the model uses only the operator set '",
                                                 model.opset_import(0).domain().substr(0, 64),
                                                 "', which is not supported"));
  }
  if (opset == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model does not say which version of the default operator set it uses; ",
                     kOldestOnnxOpset, " to ", kNewestOnnxOpset, " are supported"));
  }
  if (opset < kOldestOnnxOpset || opset > kNewestOnnxOpset) {
    return absl::UnimplementedError(absl::StrCat("the model uses opset ", opset, "; ",
                                                 kOldestOnnxOpset, " to ", kNewestOnnxOpset,
                                                 " are supported"));
  }
  return opset;
}

OnnxValue ReadValue(const onnx::ValueInfoProto& proto) {
  OnnxValue value;
  value.name = proto.name();
  if (proto.has_type() && !proto.type().has_tensor_type()) {
    value.type_name = "a value that is no tensor";
    return value;
  }
  if (!proto.has_type()) {
    value.type_name = "no type";
    return value;
  }
  const onnx::TypeProto::Tensor& tensor = proto.type().tensor_type();
  value.dtype = DTypeFromOnnx(tensor.elem_type());
  value.type_name = OnnxTypeName(tensor.elem_type());
  if (tensor.has_shape()) {
    std::vector<OnnxDim>& dims = value.dims.emplace();
    for (const onnx::TensorShapeProto::Dimension& dim : tensor.shape().dim()) {
      OnnxDim& out = dims.emplace_back();
      if (dim.has_dim_value()) {
        out.value = dim.dim_value();
      }
      out.name = dim.dim_param();
    }
  }
  return value;
}

// Files before IR version 3 may leave the type out.
onnx::AttributeProto::AttributeType AttributeType(const onnx::AttributeProto& proto) {
  if (proto.type() != onnx::AttributeProto::UNDEFINED) {
    return proto.type();
  }
  if (proto.has_i()) {
    return onnx::AttributeProto::INT;
  }
  if (proto.has_f()) {
    return onnx::AttributeProto::FLOAT;
  }
  if (proto.has_s()) {
    return onnx::AttributeProto::STRING;
  }
  if (proto.has_t()) {
    return onnx::AttributeProto::TENSOR;
  }
  if (proto.has_g()) {
    return onnx::AttributeProto::GRAPH;
  }
  return proto.floats_size() > 0 ? onnx::AttributeProto::FLOATS : onnx::AttributeProto::INTS;
}

// Bodies nest no deeper than CheckScanLimits let through.
absl::Status ReadGraph(onnx::GraphProto& proto, ExternalFiles& files, OnnxGraph& graph);

absl::StatusOr<OnnxAttribute> ReadAttribute(onnx::AttributeProto& proto, ExternalFiles& files) {
  OnnxAttribute attribute;
  attribute.name = proto.name();
  if (!proto.ref_attr_name().empty()) {
    attribute.value = OtherAttribute{"a reference to a function's attribute"};
    return attribute;
  }
  const onnx::AttributeProto::AttributeType type = AttributeType(proto);
  switch (type) {
    case onnx::AttributeProto::INT:
      attribute.value = static_cast<int64_t>(proto.i());
      break;
    case onnx::AttributeProto::FLOAT:
      attribute.value = proto.f();
      break;
    case onnx::AttributeProto::STRING:
      attribute.value = proto.s();
      break;
    case onnx::AttributeProto::INTS:
      attribute.value = std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
      break;
    case onnx::AttributeProto::FLOATS:
      attribute.value = std::vector<float>(proto.floats().begin(), proto.floats().end());
      break;
    case onnx::AttributeProto::STRINGS:
      attribute.value = std::vector<std::string>(proto.strings().begin(), proto.strings().end());
      break;
    case onnx::AttributeProto::TENSOR: {
      QB_ASSIGN_OR_RETURN(attribute.value, ReadTensor(*proto.mutable_t(), files));
      break;
    }
    case onnx::AttributeProto::GRAPH: {
      auto body = std::make_shared<OnnxGraph>();
      QB_RETURN_IF_ERROR(ReadGraph(*proto.mutable_g(), files, *body));
      attribute.value = std::shared_ptr<const OnnxGraph>(std::move(body));
      break;
    }
    default:
      attribute.value = OtherAttribute{onnx::AttributeProto::AttributeType_Name(type)};
      break;
  }
  return attribute;
}

// Adds the names that `graph` reads but does not define.
void CollectCaptures(const OnnxGraph& graph, std::vector<std::string>& captures) {
  absl::flat_hash_set<absl::string_view> known;
  for (const OnnxValue& input : graph.inputs) {
    known.insert(input.name);
  }
  for (const OnnxInitializer& initializer : graph.initializers) {
    known.insert(initializer.name);
  }
  for (const OnnxNode& node : graph.nodes) {
    known.insert(node.outputs.begin(), node.outputs.end());
  }
  const auto add = [&](const std::string& name) {
    if (!name.empty() && known.insert(name).second) {
      captures.push_back(name);
    }
  };
  for (const OnnxNode& node : graph.nodes) {
    std::for_each(node.inputs.begin(), node.inputs.end(), add);
    std::for_each(node.captures.begin(), node.captures.end(), add);
  }
  for (const OnnxValue& output : graph.outputs) {
    add(output.name);
  }
}

absl::StatusOr<OnnxNode> ReadNode(onnx::NodeProto& proto, ExternalFiles& files) {
  OnnxNode node;
  node.name = proto.name();
  node.domain = IsDefaultDomain(proto.domain()) ? std::string() : proto.domain();
  node.op_type = proto.op_type();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (onnx::AttributeProto& attribute_proto : *proto.mutable_attribute()) {
    absl::StatusOr<OnnxAttribute> attribute = ReadAttribute(attribute_proto, files);
    if (!attribute.ok()) {
      return absl::Status(
          attribute.status().code(),
          absl::StrCat("node '", node.DisplayName(), "' (", node.op_type, "): attribute '",
                       attribute_proto.name(), "': ", attribute.status().message()));
    }
    const auto* body = std::get_if<std::shared_ptr<const OnnxGraph>>(&attribute->value);
    if (body != nullptr) {
      CollectCaptures(**body, node.captures);
    }
    node.attributes.push_back(*std::move(attribute));
  }
  return node;
}

absl::Status ReadInitializers(onnx::GraphProto& graph, ExternalFiles& files, OnnxGraph& out) {
  if (graph.sparse_initializer_size() > 0) {
    return absl::UnimplementedError(
        absl::StrCat("initializer '", graph.sparse_initializer(0).values().name().substr(0, 64),
                     "' is sparse, which is not supported"));
  }
  for (onnx::TensorProto& proto : *graph.mutable_initializer()) {
    if (proto.name().empty()) {
      return absl::InvalidArgumentError("an initializer has no name");
    }
    QB_ASSIGN_OR_RETURN(Tensor value, ReadTensor(proto, files));
    out.initializers.push_back({proto.name(), std::move(value)});
  }
  return absl::OkStatus();
}

void ReadInputs(const onnx::GraphProto& graph, OnnxGraph& out) {
  absl::flat_hash_set<absl::string_view> constants;
  for (const OnnxInitializer& initializer : out.initializers) {
    constants.insert(initializer.name);
  }
  for (const onnx::ValueInfoProto& proto : graph.input()) {
    if (!constants.contains(proto.name())) {
      out.inputs.push_back(ReadValue(proto));
    }
  }
}

absl::Status ReadGraph(onnx::GraphProto& proto, ExternalFiles& files, OnnxGraph& graph) {
  graph.graph_name = proto.name();
  QB_RETURN_IF_ERROR(ReadInitializers(proto, files, graph));
  ReadInputs(proto, graph);
  for (const onnx::ValueInfoProto& output : proto.output()) {
    graph.outputs.push_back(ReadValue(output));
  }
  graph.nodes.reserve(static_cast<size_t>(proto.node_size()));
  for (onnx::NodeProto& node_proto : *proto.mutable_node()) {
    QB_ASSIGN_OR_RETURN(OnnxNode node, ReadNode(node_proto, files));
    graph.nodes.push_back(std::move(node));
  }
  return absl::OkStatus();
}

}  // namespace

const std::string& OnnxNode::DisplayName() const {
  return name.empty() && !outputs.empty() ? outputs.front() : name;
}

absl::StatusOr<OnnxModel> ReadModel(absl::string_view bytes, const std::string& folder) {
  onnx::ModelProto proto;
  QB_RETURN_IF_ERROR(Parse(bytes, proto));
  OnnxModel model;
  QB_ASSIGN_OR_RETURN(model.opset, DefaultOpset(proto));
  model.ir_version = proto.ir_version();
  model.producer_name = proto.producer_name();
  model.producer_version = proto.producer_version();
  onnx::GraphProto& graph = *proto.mutable_graph();
  QB_RETURN_IF_ERROR(CheckNames(graph));
  ExternalFiles files(folder);
  QB_RETURN_IF_ERROR(ReadGraph(graph, files, model));
  model.external_files = files.used();
  return model;
}

}  // namespace qb::onnx_import

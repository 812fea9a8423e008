#include <google/protobuf/io/coded_stream.h>

#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/op_def.h"
#include "core/package/graph_onnx.h"
#include "core/package/graph_onnx_names.h"

namespace qb {
namespace {

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("graph.onnx is damaged: ", what));
}

absl::StatusOr<TensorType> CheckedType(int dtype, const std::vector<int64_t>& dims,
                                       absl::string_view name) {
  const auto type = static_cast<DType>(dtype);
  if (dtype <= 0 || dtype > 255 || SizeBytes(type) == 0 || !CheckedElements(dims).ok()) {
    return Damaged(absl::StrCat("tensor '", name, "' has a bad type or shape"));
  }
  return TensorType{type, Shape(dims)};
}

absl::StatusOr<TensorType> TypeOf(const onnx::ValueInfoProto& info) {
  const onnx::TypeProto::Tensor& tensor = info.type().tensor_type();
  std::vector<int64_t> dims;
  for (const onnx::TensorShapeProto::Dimension& dim : tensor.shape().dim()) {
    dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
  return CheckedType(tensor.elem_type(), dims, info.name());
}

class GraphReader {
 public:
  GraphReader(absl::string_view weights, std::shared_ptr<const void> owner,
              absl::string_view weights_name)
      : weights_(weights), owner_(std::move(owner)), weights_name_(weights_name) {}

  absl::StatusOr<Graph> Read(const onnx::GraphProto& proto) {
    Graph graph(proto.name());
    QB_RETURN_IF_ERROR(ReadInputs(graph, proto));
    for (const onnx::TensorProto& constant : proto.initializer()) {
      QB_RETURN_IF_ERROR(ReadConstant(graph, constant));
    }
    std::map<std::string, Node*> outputs;
    for (const onnx::NodeProto& node : proto.node()) {
      QB_RETURN_IF_ERROR(ReadNode(graph, node, outputs));
    }
    QB_RETURN_IF_ERROR(ReadOutputs(graph, proto, std::move(outputs)));
    return graph;
  }

 private:
  absl::Status ReadInputs(Graph& graph, const onnx::GraphProto& proto) {
    for (const onnx::ValueInfoProto& input : proto.input()) {
      QB_ASSIGN_OR_RETURN(TensorType type, TypeOf(input));
      QB_RETURN_IF_ERROR(Define(input.name(), graph.AddInput(input.name(), std::move(type))));
    }
    return absl::OkStatus();
  }

  // `values` of the Output nodes, by name: each must be an output of the graph.
  static absl::Status ReadOutputs(Graph& graph, const onnx::GraphProto& proto,
                                  std::map<std::string, Node*> values) {
    for (const onnx::ValueInfoProto& output : proto.output()) {
      const auto found = values.find(output.name());
      if (found == values.end()) {
        return Damaged(absl::StrCat("output '", output.name(), "' has no node"));
      }
      graph.AddOutput(output.name(), found->second);
      values.erase(found);
    }
    return graph.outputs().empty() || !values.empty()
               ? Damaged("the outputs do not match the Output nodes")
               : absl::OkStatus();
  }

  absl::Status Define(const std::string& name, Node* node) {
    return values_.emplace(name, node).second
               ? absl::OkStatus()
               : Damaged(absl::StrCat("value '", name, "' is defined twice"));
  }

  absl::Status ReadConstant(Graph& graph, const onnx::TensorProto& proto) {
    QB_ASSIGN_OR_RETURN(
        TensorType type,
        CheckedType(proto.data_type(), {proto.dims().begin(), proto.dims().end()}, proto.name()));
    uint64_t offset = 0;
    uint64_t length = 0;
    std::string location;
    for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
      const bool is_offset = entry.key() == "offset";
      if (entry.key() == "location") {
        location = entry.value();
      } else if (!absl::SimpleAtoi(entry.value(), is_offset ? &offset : &length)) {
        return Damaged(absl::StrCat("constant '", proto.name(), "' has a bad offset or length"));
      }
    }
    if (location != weights_name_ || offset % 64 != 0 || offset > weights_.size() ||
        length > weights_.size() - offset || length != static_cast<uint64_t>(type.size_bytes())) {
      return Damaged(absl::StrCat("constant '", proto.name(), "' lies outside ", weights_name_));
    }
    return Define(
        proto.name(),
        graph.AddConstant(proto.name(),
                          Tensor::Borrow(std::move(type), weights_.data() + offset, owner_)));
  }

  absl::StatusOr<std::vector<Node*>> Operands(const onnx::NodeProto& proto) const {
    std::vector<Node*> operands;
    for (const std::string& name : proto.input()) {
      const auto found = values_.find(name);
      if (found == values_.end()) {
        return Damaged(absl::StrCat("node '", proto.name(), "' reads unknown value '", name, "'"));
      }
      operands.push_back(found->second);
    }
    return operands;
  }

  absl::Status ReadNode(Graph& graph, const onnx::NodeProto& proto,
                        std::map<std::string, Node*>& outputs) {
    QB_ASSIGN_OR_RETURN(const std::vector<Node*> operands, Operands(proto));
    const OpDef* def = FindOpDef(OpNameOfFile(proto.op_type()));
    if (def == nullptr || def->kind == OpKind::kInput || def->kind == OpKind::kInputConstant) {
      return absl::UnimplementedError(
          absl::StrCat("node '", proto.name(), "': operator '", proto.op_type(),
                       "' is not known to this compiler; the file is of a newer one"));
    }
    if (proto.output_size() != 1) {
      return Damaged(absl::StrCat("node '", proto.name(), "' has not exactly one result"));
    }
    if (def->kind == OpKind::kOutput) {
      if (operands.size() != 1 || !outputs.emplace(proto.output(0), operands[0]).second) {
        return Damaged(absl::StrCat("output '", proto.output(0), "' is malformed"));
      }
      return absl::OkStatus();
    }
    std::unique_ptr<Attributes> attrs = def->make_attributes();
    for (const onnx::AttributeProto& attribute : proto.attribute()) {
      QB_RETURN_IF_ERROR(SetAttribute(proto, attribute, *attrs));
    }
    absl::StatusOr<Node*> node = AddOp(graph, def->kind, proto.name(), operands, std::move(attrs));
    if (!node.ok()) {
      return Damaged(node.status().message());
    }
    return Define(proto.output(0), *node);
  }

  // Attributes that this version does not know are skipped: minor versions may add some.
  static absl::Status SetAttribute(const onnx::NodeProto& node, const onnx::AttributeProto& proto,
                                   Attributes& attrs) {
    const AttrValue* current = nullptr;
    const std::vector<NamedAttr> fields = attrs.Fields();
    for (const NamedAttr& field : fields) {
      if (field.name == proto.name()) {
        current = &field.value;
      }
    }
    if (current == nullptr) {
      return absl::OkStatus();
    }
    AttrValue value;
    if (std::holds_alternative<bool>(*current)) {
      value = proto.i() != 0;
    } else if (std::holds_alternative<int64_t>(*current)) {
      value = static_cast<int64_t>(proto.i());
    } else if (std::holds_alternative<float>(*current)) {
      value = proto.f();
    } else if (std::holds_alternative<std::string>(*current)) {
      value = proto.s();
    } else if (std::holds_alternative<std::vector<int64_t>>(*current)) {
      value = std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
    } else {
      value = std::vector<float>(proto.floats().begin(), proto.floats().end());
    }
    const absl::Status status = attrs.Set(proto.name(), value);
    return status.ok() ? status
                       : Damaged(absl::StrCat("node '", node.name(), "': ", status.message()));
  }

  const absl::string_view weights_;
  const std::shared_ptr<const void> owner_;
  const absl::string_view weights_name_;
  std::map<std::string, Node*> values_;
};

}  // namespace

absl::StatusOr<Graph> GraphFromOnnx(absl::string_view model, absl::string_view weights,
                                    std::shared_ptr<const void> owner,
                                    absl::string_view weights_name) {
  if (model.size() > (size_t{1} << 30)) {
    return Damaged("it is larger than 1 GiB");
  }
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(model.data()),
                                                static_cast<int>(model.size()));
  stream.SetRecursionLimit(32);
  onnx::ModelProto proto;
  if (!proto.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return Damaged("it is no ModelProto");
  }
  if (proto.opset_import_size() != 1 || proto.opset_import(0).domain() != kMbltDomain) {
    return Damaged(absl::StrCat("its operators are not those of domain ", kMbltDomain));
  }
  if (proto.opset_import(0).version() > kMbltOpset) {
    return absl::UnimplementedError(absl::StrCat("graph.onnx has operator set version ",
                                                 proto.opset_import(0).version(), "; up to ",
                                                 kMbltOpset, " is known"));
  }
  return GraphReader(weights, std::move(owner), weights_name).Read(proto.graph());
}

}  // namespace qb

#include "core/frontends/onnx/node_importer.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/read_tensor.h"
#include "core/frontends/onnx/scalar_values.h"
#include "core/ops/movement.h"
#include "core/ops/op_def.h"
#include "core/ops/pointwise.h"

namespace qb::onnx_import {
namespace {

absl::Status CheckListed(int64_t count, absl::string_view what) {
  if (count > kMostListed) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", count, " elements; at most ", kMostListed, " are accepted"));
  }
  return absl::OkStatus();
}

}  // namespace

bool NodeImporter::HasInput(int64_t index) const {
  return index < input_count() && !node_.inputs[static_cast<size_t>(index)].empty();
}

absl::StatusOr<Node*> NodeImporter::Input(int64_t index, absl::string_view what) {
  if (!HasInput(index)) {
    return absl::InvalidArgumentError(absl::StrCat("input ", index, " (", what, ") is missing"));
  }
  input_read_[static_cast<size_t>(index)] = true;
  const std::string& name = node_.inputs[static_cast<size_t>(index)];
  Node* const value = values_.Find(name);
  if (value == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("input '", name, "' (", what, ") is an output that is not supported"));
  }
  return value;
}

absl::StatusOr<Tensor> NodeImporter::ConstantInput(int64_t index, absl::string_view what) {
  QB_ASSIGN_OR_RETURN(Node * node, Input(index, what));
  if (!node->is_constant()) {
    return absl::UnimplementedError(
        absl::StrCat("input '", node_.inputs[static_cast<size_t>(index)], "' (", what,
                     ") depends on an input of the model; a constant is supported"));
  }
  return node->constant();
}

absl::StatusOr<std::vector<int64_t>> NodeImporter::IntsInput(int64_t index,
                                                             absl::string_view what) {
  QB_ASSIGN_OR_RETURN(const Tensor value, ConstantInput(index, what));
  if ((value.dtype() != DType::kInt64 && value.dtype() != DType::kInt32) ||
      value.shape().rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("input ", index, " (", what, ") is ",
                                                   value.type().ToString(),
                                                   "; a list of int64 is accepted"));
  }
  QB_RETURN_IF_ERROR(CheckListed(value.elements(), what));
  return IntegersOf(value);
}

absl::StatusOr<int64_t> NodeImporter::IntInput(int64_t index, absl::string_view what) {
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> values, IntsInput(index, what));
  if (values.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("input ", index, " (", what, ") has ",
                                                   values.size(), " elements; one is accepted"));
  }
  return values.front();
}

absl::StatusOr<std::vector<float>> NodeImporter::FloatsInput(int64_t index,
                                                             absl::string_view what) {
  QB_ASSIGN_OR_RETURN(const Tensor value, ConstantInput(index, what));
  QB_RETURN_IF_ERROR(CheckListed(value.elements(), what));
  std::vector<float> floats;
  for (const double number : DoublesOf(value)) {
    floats.push_back(static_cast<float>(number));
  }
  return floats;
}

void NodeImporter::IgnoreInput(int64_t index) {
  if (index < input_count()) {
    input_read_[static_cast<size_t>(index)] = true;
  }
}

bool NodeImporter::HasAttr(absl::string_view name) const {
  for (const OnnxAttribute& attribute : node_.attributes) {
    if (attribute.name == name) {
      return true;
    }
  }
  return false;
}

const OnnxAttribute* NodeImporter::FindAttr(absl::string_view name) {
  for (size_t i = 0; i < node_.attributes.size(); ++i) {
    if (node_.attributes[i].name == name) {
      attribute_read_[i] = true;
      return &node_.attributes[i];
    }
  }
  return nullptr;
}

template <typename T>
absl::StatusOr<std::optional<T>> NodeImporter::TypedAttr(absl::string_view name,
                                                         absl::string_view kind) {
  const OnnxAttribute* attribute = FindAttr(name);
  if (attribute == nullptr) {
    return std::optional<T>();
  }
  const T* value = std::get_if<T>(&attribute->value);
  if (value == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' has to be ", kind));
  }
  return std::optional<T>(*value);
}

absl::StatusOr<int64_t> NodeImporter::IntAttr(absl::string_view name, int64_t default_value) {
  QB_ASSIGN_OR_RETURN(const std::optional<int64_t> value, TypedAttr<int64_t>(name, "an integer"));
  return value.value_or(default_value);
}

absl::StatusOr<bool> NodeImporter::BoolAttr(absl::string_view name, bool default_value) {
  QB_ASSIGN_OR_RETURN(const int64_t value, IntAttr(name, default_value ? 1 : 0));
  if (value != 0 && value != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute '", name, "' is ", value, "; 0 and 1 are accepted"));
  }
  return value == 1;
}

absl::StatusOr<float> NodeImporter::FloatAttr(absl::string_view name, float default_value) {
  QB_ASSIGN_OR_RETURN(const std::optional<float> value, TypedAttr<float>(name, "a float"));
  return value.value_or(default_value);
}

absl::StatusOr<std::string> NodeImporter::StringAttr(absl::string_view name,
                                                     absl::string_view default_value) {
  QB_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                      TypedAttr<std::string>(name, "a string"));
  if (value.has_value() && value->size() > 64) {
    return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' has ", value->size(),
                                                   " characters; no known value is that long"));
  }
  return value.value_or(std::string(default_value));
}

absl::StatusOr<std::vector<int64_t>> NodeImporter::IntsAttr(absl::string_view name) {
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> values, ManyIntsAttr(name));
  QB_RETURN_IF_ERROR(CheckListed(static_cast<int64_t>(values.size()), name));
  return values;
}

absl::StatusOr<std::vector<int64_t>> NodeImporter::ManyIntsAttr(absl::string_view name) {
  QB_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> value,
                      TypedAttr<std::vector<int64_t>>(name, "a list of integers"));
  return value.value_or(std::vector<int64_t>());
}

absl::StatusOr<std::vector<float>> NodeImporter::FloatsAttr(absl::string_view name) {
  QB_ASSIGN_OR_RETURN(const std::optional<std::vector<float>> value,
                      TypedAttr<std::vector<float>>(name, "a list of floats"));
  return value.value_or(std::vector<float>());
}

absl::StatusOr<std::vector<std::string>> NodeImporter::StringsAttr(absl::string_view name) {
  QB_ASSIGN_OR_RETURN(const std::optional<std::vector<std::string>> value,
                      TypedAttr<std::vector<std::string>>(name, "a list of strings"));
  const std::vector<std::string> strings = value.value_or(std::vector<std::string>());
  QB_RETURN_IF_ERROR(CheckListed(static_cast<int64_t>(strings.size()), name));
  for (const std::string& text : strings) {
    if (text.size() > 64) {
      return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' has a string of ",
                                                     text.size(),
                                                     " characters; no known value is that long"));
    }
  }
  return strings;
}

absl::StatusOr<const OnnxGraph*> NodeImporter::BodyAttr(absl::string_view name) {
  const OnnxAttribute* attribute = FindAttr(name);
  const auto* body = attribute == nullptr
                         ? nullptr
                         : std::get_if<std::shared_ptr<const OnnxGraph>>(&attribute->value);
  if (body == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' has to be a graph"));
  }
  return body->get();
}

absl::StatusOr<std::optional<Tensor>> NodeImporter::TensorAttr(absl::string_view name) {
  return TypedAttr<Tensor>(name, "a tensor");
}

absl::StatusOr<int64_t> NodeImporter::RequiredIntAttr(absl::string_view name) {
  QB_ASSIGN_OR_RETURN(const std::optional<int64_t> value, TypedAttr<int64_t>(name, "an integer"));
  if (!value.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' is missing"));
  }
  return *value;
}

absl::StatusOr<DType> NodeImporter::DTypeAttr(absl::string_view name, DType default_value) {
  QB_ASSIGN_OR_RETURN(const int64_t number, IntAttr(name, static_cast<int64_t>(default_value)));
  constexpr int64_t kMost = 1000;
  const bool possible = number >= 0 && number <= kMost;
  const DType dtype = possible ? DTypeFromOnnx(static_cast<int32_t>(number)) : DType::kUndefined;
  if (dtype == DType::kUndefined) {
    return absl::UnimplementedError(absl::StrCat(
        "attribute '", name, "' is ",
        possible ? OnnxTypeName(static_cast<int32_t>(number)) : absl::StrCat("type ", number),
        ", which is not supported"));
  }
  return dtype;
}

void NodeImporter::IgnoreAttr(absl::string_view name) { FindAttr(name); }

absl::StatusOr<std::optional<std::vector<int64_t>>> NodeImporter::AxesOf(int64_t index,
                                                                         int64_t input_since) {
  if (opset_ < input_since) {
    return TypedAttr<std::vector<int64_t>>("axes", "a list of integers");
  }
  if (!HasInput(index)) {
    return std::optional<std::vector<int64_t>>();
  }
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> axes, IntsInput(index, "axes"));
  return std::optional<std::vector<int64_t>>(std::move(axes));
}

int64_t NodeImporter::output_count() const {
  int64_t count = 0;
  for (const std::string& output : node_.outputs) {
    count += output.empty() ? 0 : 1;
  }
  return count;
}

bool NodeImporter::HasOutput(int64_t index) const {
  return index < static_cast<int64_t>(node_.outputs.size()) &&
         !node_.outputs[static_cast<size_t>(index)].empty();
}

const std::string& NodeImporter::OutputName(int64_t index) const {
  return node_.outputs[static_cast<size_t>(index)];
}

std::string NodeImporter::NameOf(absl::string_view role) const {
  absl::string_view base = node_.name;
  for (const std::string& output : node_.outputs) {
    if (!output.empty()) {
      base = output;
      break;
    }
  }
  return role.empty() ? std::string(base) : absl::StrCat(base, "/", role);
}

absl::StatusOr<Node*> NodeImporter::AddNode(absl::string_view role, OpKind kind,
                                            absl::Span<Node* const> operands,
                                            std::unique_ptr<Attributes> attrs) {
  return builder_.Add(kind, NameOf(role), operands, std::move(attrs));
}

absl::StatusOr<Node*> NodeImporter::Add(absl::string_view role, OpKind kind,
                                        absl::Span<Node* const> operands) {
  return AddNode(role, kind, operands, OpDefOf(kind).make_attributes());
}

absl::StatusOr<Node*> NodeImporter::AddConstant(absl::string_view role, Tensor value) {
  return builder_.AddFolded(NameOf(role), std::move(value));
}

absl::StatusOr<Node*> NodeImporter::AddScalar(absl::string_view role, DType dtype, double value) {
  QB_ASSIGN_OR_RETURN(Tensor scalar, ScalarOf(dtype, value));
  return AddConstant(role, std::move(scalar));
}

absl::StatusOr<Node*> NodeImporter::AddReshape(absl::string_view role, Node* node,
                                               const Shape& shape) {
  ReshapeAttrs attrs;
  attrs.new_shape = shape.dims();
  return Add(role, OpKind::kReshape, {node}, std::move(attrs));
}

absl::StatusOr<Node*> NodeImporter::AddCast(absl::string_view role, Node* value, DType dtype) {
  if (value->type().dtype == dtype) {
    return value;
  }
  CastAttrs attrs;
  attrs.dtype = std::string(DTypeName(dtype));
  return Add(role, OpKind::kCast, {value}, std::move(attrs));
}

absl::StatusOr<Node*> NodeImporter::AddTranspose(absl::string_view role, Node* value,
                                                 std::vector<int64_t> order) {
  TransposeAttrs attrs;
  attrs.transpose_axes = std::move(order);
  return Add(role, OpKind::kTranspose, {value}, std::move(attrs));
}

absl::StatusOr<Node*> NodeImporter::AddSlice(absl::string_view role, Node* value, int64_t axis,
                                             const AxisRange& range) {
  SliceAttrs attrs;
  attrs.axis = {axis};
  attrs.start = {range.start};
  attrs.end = {range.end};
  attrs.step = {range.step};
  return Add(role, OpKind::kSlice, {value}, std::move(attrs));
}

absl::Status NodeImporter::SetOutput(int64_t index, Node* value) {
  if (!HasOutput(index)) {
    return index > 0 ? absl::OkStatus()
                     : absl::InvalidArgumentError("the node has no name for its first output");
  }
  values_.Set(OutputName(index), value);
  return absl::OkStatus();
}

absl::Status NodeImporter::Finish(absl::StatusOr<Node*> value) {
  QB_RETURN_IF_ERROR(value.status());
  return SetOutput(0, *value);
}

absl::Status NodeImporter::CheckAllRead(
    const absl::flat_hash_map<std::string, int64_t>& uses) const {
  for (size_t i = 0; i < node_.attributes.size(); ++i) {
    if (!attribute_read_[i]) {
      return absl::UnimplementedError(absl::StrCat("attribute '", node_.attributes[i].name,
                                                   "' is not known for opset ", opset_));
    }
  }
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    if (!input_read_[i] && !node_.inputs[i].empty()) {
      return absl::UnimplementedError(
          absl::StrCat("input ", i, " ('", node_.inputs[i], "') is not known for opset ", opset_));
    }
  }
  for (size_t i = 0; i < node_.outputs.size(); ++i) {
    const std::string& output = node_.outputs[i];
    if (!output.empty() && uses.contains(output) && !values_.contains(output)) {
      return absl::UnimplementedError(
          absl::StrCat("output ", i, " ('", output, "') is not supported"));
    }
  }
  return absl::OkStatus();
}

}  // namespace qb::onnx_import

// What an importer of one operator works with: the ONNX node's inputs and attributes on one side,
// the graph that is being built on the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/frontends/onnx/graph_builder.h"
#include "core/frontends/onnx/onnx_model.h"
#include "core/ir/graph.h"

namespace qb::onnx_import {

// Elements of a list that says something about axes, sizes or bounds; also bounds what messages
// print.
inline constexpr int64_t kMostListed = 4096;

// ONNX value name -> the node that computes it. A body of a control-flow operator has values of its
// own and sees those of the graphs around it.
class Values {
 public:
  explicit Values(const Values* outer = nullptr) : outer_(outer) {}
  // Null when there is none.
  Node* Find(absl::string_view name) const {
    const auto found = own_.find(name);
    if (found != own_.end()) {
      return found->second;
    }
    return outer_ == nullptr ? nullptr : outer_->Find(name);
  }
  bool contains(absl::string_view name) const { return Find(name) != nullptr; }
  void Set(const std::string& name, Node* node) { own_[name] = node; }

 private:
  const Values* outer_;
  absl::flat_hash_map<std::string, Node*> own_;
};

// Imports a body whose inputs are `inputs`, with the values around it; gives its outputs.
using ImportBodyFunction = std::function<absl::StatusOr<std::vector<Node*>>(
    const OnnxGraph& body, absl::Span<Node* const> inputs, const Values& outer)>;

// Elements start, start + step, ... before `end` of an axis, as SliceAttrs.
struct AxisRange {
  int64_t start = 0;
  int64_t end = 0;
  int64_t step = 1;
};

// Lives for one node. Whatever an importer does not ask for is an error at the end (CheckAllRead),
// so that no attribute of a newer opset is ignored by accident. Errors of all members come without
// the node's name, which the caller adds.
class NodeImporter {
 public:
  NodeImporter(const OnnxNode& node, int64_t opset, Values& values, GraphBuilder& builder,
               const ImportBodyFunction& import_body)
      : node_(node),
        opset_(opset),
        values_(values),
        builder_(builder),
        import_body_(import_body),
        input_read_(node.inputs.size(), false),
        attribute_read_(node.attributes.size(), false) {}

  const std::string& op_type() const { return node_.op_type; }
  int64_t opset() const { return opset_; }

  // Inputs. `what` names the input in messages ("weights").
  int64_t input_count() const { return static_cast<int64_t>(node_.inputs.size()); }
  bool HasInput(int64_t index) const;
  absl::StatusOr<Node*> Input(int64_t index, absl::string_view what);
  // An input whose value must be known now. Errors: Unimplemented when it depends on a graph input.
  absl::StatusOr<Tensor> ConstantInput(int64_t index, absl::string_view what);
  // The same as numbers: int32 or int64, rank 0 or 1.
  absl::StatusOr<std::vector<int64_t>> IntsInput(int64_t index, absl::string_view what);
  absl::StatusOr<int64_t> IntInput(int64_t index, absl::string_view what);
  // The same as numbers: any float or integer type, one element or a list.
  absl::StatusOr<std::vector<float>> FloatsInput(int64_t index, absl::string_view what);
  // Of an input that changes nothing in the form at hand.
  void IgnoreInput(int64_t index);

  // Attributes. Errors: InvalidArgument for another kind of attribute than asked for.
  bool HasAttr(absl::string_view name) const;
  absl::StatusOr<int64_t> IntAttr(absl::string_view name, int64_t default_value);
  absl::StatusOr<bool> BoolAttr(absl::string_view name, bool default_value);
  absl::StatusOr<float> FloatAttr(absl::string_view name, float default_value);
  absl::StatusOr<std::string> StringAttr(absl::string_view name, absl::string_view default_value);
  // Empty when absent. Errors: also for more than kMostListed elements.
  absl::StatusOr<std::vector<int64_t>> IntsAttr(absl::string_view name);
  // Without that limit: values rather than parameters.
  absl::StatusOr<std::vector<int64_t>> ManyIntsAttr(absl::string_view name);
  absl::StatusOr<std::vector<float>> FloatsAttr(absl::string_view name);  // empty when absent
  absl::StatusOr<std::vector<std::string>> StringsAttr(absl::string_view name);
  absl::StatusOr<std::optional<Tensor>> TensorAttr(absl::string_view name);
  // The body of a control-flow operator; it lives as long as the node. Errors: when it is missing.
  absl::StatusOr<const OnnxGraph*> BodyAttr(absl::string_view name);
  absl::StatusOr<int64_t> RequiredIntAttr(absl::string_view name);
  // An element type by its ONNX number. Errors: Unimplemented for types that we lack.
  absl::StatusOr<DType> DTypeAttr(absl::string_view name, DType default_value);
  void IgnoreAttr(absl::string_view name);
  // The axes of Squeeze, ReduceSum, ...: an attribute before `input_since`, the input `index` from
  // then on; nullopt when neither is there.
  absl::StatusOr<std::optional<std::vector<int64_t>>> AxesOf(int64_t index, int64_t input_since);

  // The outputs of `body` for these inputs. Errors: as importing its nodes; ResourceExhausted when
  // the bodies of the model become too many nodes.
  absl::StatusOr<std::vector<Node*>> ImportBody(const OnnxGraph& body,
                                                absl::Span<Node* const> inputs) {
    return import_body_(body, inputs, values_);
  }

  // Building. An empty role names the node after the first output; another role "r" gives
  // "<output>/r".
  int64_t output_count() const;  // outputs that have names
  int64_t output_slots() const { return static_cast<int64_t>(node_.outputs.size()); }
  bool HasOutput(int64_t index) const;
  const std::string& OutputName(int64_t index) const;
  absl::StatusOr<Node*> AddNode(absl::string_view role, OpKind kind,
                                absl::Span<Node* const> operands,
                                std::unique_ptr<Attributes> attrs);
  absl::StatusOr<Node*> Add(absl::string_view role, OpKind kind, absl::Span<Node* const> operands);
  template <typename A>
  requires std::is_base_of_v<Attributes, A> absl::StatusOr<Node*> Add(
      absl::string_view role, OpKind kind, absl::Span<Node* const> operands, A attrs) {
    std::unique_ptr<Attributes> owned = std::make_unique<A>(std::move(attrs));
    return AddNode(role, kind, operands, std::move(owned));
  }
  // Named after the output `index`.
  absl::StatusOr<Node*> AddOutputNode(int64_t index, OpKind kind, absl::Span<Node* const> operands,
                                      std::unique_ptr<Attributes> attrs) {
    return builder_.Add(kind, OutputName(index), operands, std::move(attrs));
  }
  absl::StatusOr<Node*> AddConstant(absl::string_view role, Tensor value);
  // A constant that the file holds (Constant), named after the first output.
  absl::StatusOr<Node*> AddInitializer(Tensor value) {
    return builder_.AddInitializer(NameOf(""), std::move(value));
  }
  // One element of `dtype`, rank 0.
  absl::StatusOr<Node*> AddScalar(absl::string_view role, DType dtype, double value);
  absl::StatusOr<Node*> AddReshape(absl::string_view role, Node* node, const Shape& shape);
  // The value itself when it has that type.
  absl::StatusOr<Node*> AddCast(absl::string_view role, Node* value, DType dtype);
  absl::StatusOr<Node*> AddTranspose(absl::string_view role, Node* value,
                                     std::vector<int64_t> order);
  absl::StatusOr<Node*> AddSlice(absl::string_view role, Node* value, int64_t axis,
                                 const AxisRange& range);

  // The ONNX output `index` is `value`.
  absl::Status SetOutput(int64_t index, Node* value);
  // SetOutput(0, value), passing errors on: `return node.Finish(node.Add("", ...));`
  absl::Status Finish(absl::StatusOr<Node*> value);

  // After the importer: every input, attribute and output was dealt with. Errors: Unimplemented.
  absl::Status CheckAllRead(const absl::flat_hash_map<std::string, int64_t>& uses) const;

 private:
  const OnnxAttribute* FindAttr(absl::string_view name);
  template <typename T>
  absl::StatusOr<std::optional<T>> TypedAttr(absl::string_view name, absl::string_view kind);
  std::string NameOf(absl::string_view role) const;

  const OnnxNode& node_;
  int64_t opset_;
  Values& values_;
  GraphBuilder& builder_;
  const ImportBodyFunction& import_body_;
  std::vector<bool> input_read_;
  std::vector<bool> attribute_read_;
};

}  // namespace qb::onnx_import

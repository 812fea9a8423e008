// LSTM, GRU, RNN.
#include "core/ops/recurrent.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"

namespace qb::onnx_import {
namespace {

OpKind KindOf(absl::string_view op_type) {
  if (op_type == "LSTM") {
    return OpKind::kLSTM;
  }
  return op_type == "GRU" ? OpKind::kGRU : OpKind::kRNN;
}

std::vector<std::string> DefaultFunctions(OpKind kind) {
  switch (kind) {
    case OpKind::kLSTM:
      return {"Sigmoid", "Tanh", "Tanh"};
    case OpKind::kGRU:
      return {"Sigmoid", "Tanh"};
    default:
      return {"Tanh"};
  }
}

// Source: ONNX LSTM, activation_alpha and activation_beta.
std::pair<float, float> DefaultParameters(CellFunction function) {
  switch (function) {
    case CellFunction::kAffine:
    case CellFunction::kScaledTanh:
      return {1.0f, 1.0f};
    case CellFunction::kLeakyRelu:
      return {0.01f, 0.0f};
    case CellFunction::kThresholdedRelu:
    case CellFunction::kElu:
      return {1.0f, 0.0f};
    case CellFunction::kHardSigmoid:
      return {0.2f, 0.5f};
    default:
      return {0.0f, 0.0f};
  }
}

bool HasAlpha(CellFunction function) { return DefaultParameters(function).first != 0.0f; }
bool HasBeta(CellFunction function) { return DefaultParameters(function).second != 0.0f; }

absl::Status ReadFunctions(NodeImporter& node, OpKind kind, int64_t directions,
                           RecurrentAttrs& attrs) {
  QB_ASSIGN_OR_RETURN(std::vector<std::string> names, node.StringsAttr("activations"));
  if (names.empty()) {
    for (int64_t d = 0; d < directions; ++d) {
      const std::vector<std::string> defaults = DefaultFunctions(kind);
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  attrs.activations = absl::StrJoin(names, ",");
  QB_ASSIGN_OR_RETURN(const std::vector<CellFunction> functions,
                      ParseCellFunctions(attrs.activations));
  QB_ASSIGN_OR_RETURN(const std::vector<float> alphas, node.FloatsAttr("activation_alpha"));
  QB_ASSIGN_OR_RETURN(const std::vector<float> betas, node.FloatsAttr("activation_beta"));
  // The lists hold numbers for those functions that have one, in order.
  size_t next_alpha = 0;
  size_t next_beta = 0;
  for (const CellFunction function : functions) {
    auto [alpha, beta] = DefaultParameters(function);
    if (HasAlpha(function) && next_alpha < alphas.size()) {
      alpha = alphas[next_alpha++];
    }
    if (HasBeta(function) && next_beta < betas.size()) {
      beta = betas[next_beta++];
    }
    attrs.activation_alpha.push_back(alpha);
    attrs.activation_beta.push_back(beta);
  }
  return absl::OkStatus();
}

absl::Status ReadAttributes(NodeImporter& node, OpKind kind, RecurrentAttrs& attrs) {
  QB_ASSIGN_OR_RETURN(const std::string direction, node.StringAttr("direction", "forward"));
  QB_RETURN_IF_ERROR(attrs.Set("direction", direction));
  QB_ASSIGN_OR_RETURN(attrs.hidden_size, node.RequiredIntAttr("hidden_size"));
  QB_ASSIGN_OR_RETURN(attrs.clip, node.FloatAttr("clip", 0.0f));
  if (kind == OpKind::kGRU) {
    QB_ASSIGN_OR_RETURN(attrs.linear_before_reset, node.BoolAttr("linear_before_reset", false));
  }
  if (kind == OpKind::kLSTM) {
    QB_ASSIGN_OR_RETURN(attrs.input_forget, node.BoolAttr("input_forget", false));
  }
  const int64_t directions = attrs.direction == Direction::kBidirectional ? 2 : 1;
  return ReadFunctions(node, kind, directions, attrs);
}

absl::StatusOr<Node*> InputOrZeros(NodeImporter& node, int64_t index, absl::string_view what,
                                   const TensorType& type) {
  if (node.HasInput(index)) {
    return node.Input(index, what);
  }
  QB_RETURN_IF_ERROR(CheckedElements(type.shape.dims()).status());
  if (type.size_bytes() > kMostFoldedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the default of input '", what, "' would be ", type.ToString()));
  }
  return node.AddConstant(what, Tensor::Allocate(type));
}
// One state [D, N, H] ([N, D, H] with the batch first) as ONNX output `index`.
absl::Status SetState(NodeImporter& node, int64_t index, Node* joint, int64_t row,
                      bool batch_first) {
  if (!node.HasOutput(index)) {
    return absl::OkStatus();
  }
  const std::string role = index == 1 ? "h" : "c";
  QB_ASSIGN_OR_RETURN(Node * state, node.AddSlice(role + "_row", joint, 0, {row, row + 1}));
  const Shape& shape = joint->shape();
  QB_ASSIGN_OR_RETURN(state, node.AddReshape(role, state, {shape[1], shape[2], shape[3]}));
  if (batch_first) {
    QB_ASSIGN_OR_RETURN(state, node.AddTranspose(role + "_batch", state, {1, 0, 2}));
  }
  return node.SetOutput(index, state);
}

// The inputs in the order of RecurrentAttrs, the steps first.
absl::StatusOr<std::vector<Node*>> ReadOperands(NodeImporter& node, OpKind kind,
                                                const RecurrentAttrs& attrs, bool batch_first) {
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "X"));
  if (x->shape().rank() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("X has shape ", x->shape().ToString(), "; rank 3 is accepted"));
  }
  if (batch_first) {
    QB_ASSIGN_OR_RETURN(x, node.AddTranspose("x", x, {1, 0, 2}));
  }
  QB_ASSIGN_OR_RETURN(Node * w, node.Input(1, "W"));
  QB_ASSIGN_OR_RETURN(Node * r, node.Input(2, "R"));
  const DType dtype = x->type().dtype;
  const int64_t directions = attrs.direction == Direction::kBidirectional ? 2 : 1;
  const int64_t hidden = attrs.hidden_size;
  const int64_t rows = w->shape().rank() == 3 ? w->shape()[1] : 0;
  QB_ASSIGN_OR_RETURN(Node * b, InputOrZeros(node, 3, "B", {dtype, {directions, 2 * rows}}));
  const TensorType state = {dtype, Shape{directions, x->shape()[1], hidden}};
  std::vector<Node*> operands = {x, w, r, b};
  const int64_t states = FormOf(kind).states;
  for (int64_t i = 0; i < states; ++i) {
    const bool given = node.HasInput(5 + i);
    QB_ASSIGN_OR_RETURN(Node * initial,
                        InputOrZeros(node, 5 + i, i == 0 ? "initial_h" : "initial_c", state));
    if (batch_first && given) {
      QB_ASSIGN_OR_RETURN(
          initial, node.AddTranspose(i == 0 ? "initial_h" : "initial_c", initial, {1, 0, 2}));
    }
    operands.push_back(initial);
  }
  if (kind == OpKind::kLSTM) {
    QB_ASSIGN_OR_RETURN(Node * peepholes,
                        InputOrZeros(node, 7, "P", {dtype, {directions, 3 * hidden}}));
    operands.push_back(peepholes);
  }
  if (node.HasInput(4)) {
    QB_ASSIGN_OR_RETURN(Node * lengths, node.Input(4, "sequence_lens"));
    operands.push_back(lengths);
  }
  return operands;
}

}  // namespace

absl::Status ImportRecurrent(NodeImporter& node) {
  const OpKind kind = KindOf(node.op_type());
  RecurrentAttrs attrs;
  QB_RETURN_IF_ERROR(ReadAttributes(node, kind, attrs));
  bool batch_first = false;
  if (node.opset() >= 14) {
    QB_ASSIGN_OR_RETURN(batch_first, node.BoolAttr("layout", false));
  }
  QB_ASSIGN_OR_RETURN(const std::vector<Node*> operands,
                      ReadOperands(node, kind, attrs, batch_first));
  QB_ASSIGN_OR_RETURN(Node * joint, node.Add("sequence", kind, operands, std::move(attrs)));
  const int64_t steps = operands.front()->shape()[0];
  if (node.HasOutput(0)) {
    QB_ASSIGN_OR_RETURN(Node * y, node.AddSlice(batch_first ? "y" : "", joint, 0, {0, steps}));
    if (batch_first) {
      QB_ASSIGN_OR_RETURN(y, node.AddTranspose("", y, {2, 0, 1, 3}));
    }
    QB_RETURN_IF_ERROR(node.SetOutput(0, y));
  }
  QB_RETURN_IF_ERROR(SetState(node, 1, joint, steps, batch_first));
  return kind == OpKind::kLSTM ? SetState(node, 2, joint, steps + 1, batch_first)
                               : absl::OkStatus();
}

}  // namespace qb::onnx_import

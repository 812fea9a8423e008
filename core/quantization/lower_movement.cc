// Operators that move codes.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/movement.h"
#include "core/quantization/lowering.h"
#include "core/quantization/resize_index.h"
#include "core/quantization/weight_quantization.h"

namespace qb {
namespace {

// The operand's tensor with the codes of the result.
int Moved(Lowering& lowering, const Node* node) {
  if (lowering.outputs().Copies(node, node->operand(0))) {
    return lowering.tensor(node->operand(0));
  }
  return lowering.TensorAs(node->operand(0), lowering.scale(node));
}

absl::Status AddMove(Lowering& lowering, const Node* node, integer::LayerParams params) {
  const int from = Moved(lowering, node);
  lowering.AddLayer(node->name(), {from}, lowering.AddValue(node), std::move(params));
  return absl::OkStatus();
}

}  // namespace

absl::Status LowerReshape(Lowering& lowering, const Node* node) {
  return AddMove(lowering, node, integer::ReshapeParams{});
}

absl::Status LowerTranspose(Lowering& lowering, const Node* node) {
  return AddMove(lowering, node,
                 integer::TransposeParams{node->attrs<TransposeAttrs>().transpose_axes});
}

namespace {

// A concatenation on the way to an output: each part comes with the codes that its place has.
std::vector<int> PartsOfOutput(Lowering& lowering, const Node* node) {
  std::vector<int> parts;
  parts.reserve(static_cast<size_t>(node->operand_count()));
  for (int64_t i = 0; i < static_cast<int64_t>(node->operand_count()); ++i) {
    const Node* operand = node->operand(i);
    if (lowering.outputs().Copies(node, operand)) {
      parts.push_back(lowering.tensor(operand));
      continue;
    }
    const ValueScale& scale = lowering.outputs().outside.at({node, i});
    parts.push_back(operand->is_constant() ? lowering.AddConstant(*operand, scale)
                                           : lowering.TensorAs(operand, scale));
  }
  return parts;
}

}  // namespace

absl::Status LowerConcatenate(Lowering& lowering, const Node* node) {
  const ValueScale& scale = lowering.scale(node);
  integer::ConcatParams params;
  params.axis = node->attrs<ConcatenateAttrs>().axis;
  if (lowering.outputs().members.contains(node)) {
    std::vector<int> parts = PartsOfOutput(lowering, node);
    params.requant.assign(parts.size(), RequantFor(1.0));
    params.same_scale.assign(parts.size(), 1);
    lowering.AddLayer(node->name(), std::move(parts), lowering.AddValue(node), std::move(params));
    return absl::OkStatus();
  }
  std::vector<int> inputs;
  for (const Node* operand : node->operands()) {
    // int8 parts are rescaled on the way; a part of another width, or any int16 one, before.
    const bool direct = !operand->is_constant() && scale.dtype == DType::kInt8 &&
                        lowering.scale(operand).dtype == DType::kInt8;
    const ValueScale& from = direct ? lowering.scale(operand) : scale;
    inputs.push_back(operand->is_constant() ? lowering.AddConstant(*operand, scale)
                                            : lowering.TensorAs(operand, from));
    params.requant.push_back(RequantFor(static_cast<double>(from.scale) / scale.scale));
    // Parts of a value with steps by channel have those already.
    params.same_scale.push_back(from == scale || !scale.channel_factors.empty() ? 1 : 0);
  }
  lowering.AddLayer(node->name(), std::move(inputs), lowering.AddValue(node), std::move(params));
  return absl::OkStatus();
}

absl::Status LowerSlice(Lowering& lowering, const Node* node) {
  const SliceAttrs& attrs = node->attrs<SliceAttrs>();
  const size_t rank = static_cast<size_t>(node->shape().rank());
  integer::SliceParams params;
  params.start.assign(rank, 0);
  params.step.assign(rank, 1);
  for (size_t i = 0; i < attrs.axis.size(); ++i) {
    params.start[static_cast<size_t>(attrs.axis[i])] = attrs.start[i];
    params.step[static_cast<size_t>(attrs.axis[i])] = attrs.step[i];
  }
  return AddMove(lowering, node, std::move(params));
}

absl::Status LowerPad(Lowering& lowering, const Node* node) {
  const PadAttrs& attrs = node->attrs<PadAttrs>();
  const auto negative = [](int64_t padding) { return padding < 0; };
  if (attrs.pad_mode != PadMode::kConstant ||
      std::any_of(attrs.padding_list.begin(), attrs.padding_list.end(), negative)) {
    return UnsupportedLayer(*node, "mode or negative padding; constant padding is accepted");
  }
  const ValueScale& scale = lowering.scale(node);
  integer::PadParams params;
  params.begin.assign(
      attrs.padding_list.begin(),
      attrs.padding_list.begin() + static_cast<std::ptrdiff_t>(attrs.padding_list.size() / 2));
  params.code = CodeOf(attrs.constant, scale);
  return AddMove(lowering, node, std::move(params));
}

absl::Status LowerResize(Lowering& lowering, const Node* node) {
  const ResizeAttrs& attrs = node->attrs<ResizeAttrs>();
  const Shape& from = node->operand(0)->shape();
  const Shape& to = node->shape();
  if (attrs.mode == ResizeMode::kCubic || from.rank() != 4 || from[0] != to[0] ||
      from[3] != to[3]) {
    return UnsupportedLayer(
        *node,
        absl::StrCat(NameOfEnum(attrs.mode), " from ", from.ToString(), " to ", to.ToString(),
                     "; nearest or linear over rows and columns is accepted"));
  }
  if (attrs.mode == ResizeMode::kLinear) {
    integer::ResizeLinearParams params;
    QB_ASSIGN_OR_RETURN(params.rows, LinearPlaces(attrs, 1, from[1], to[1], params.fraction_bits));
    QB_ASSIGN_OR_RETURN(params.columns,
                        LinearPlaces(attrs, 2, from[2], to[2], params.fraction_bits));
    return AddMove(lowering, node, std::move(params));
  }
  integer::ResizeNearestParams params;
  QB_ASSIGN_OR_RETURN(params.row_index, NearestIndices(attrs, 1, from[1], to[1]));
  QB_ASSIGN_OR_RETURN(params.column_index, NearestIndices(attrs, 2, from[2], to[2]));
  return AddMove(lowering, node, std::move(params));
}

absl::Status LowerDepthToSpace(Lowering& lowering, const Node* node) {
  const DepthSpaceAttrs& attrs = node->attrs<DepthSpaceAttrs>();
  if (!attrs.channel_last) {
    return UnsupportedLayer(*node, "channels come first; the layout pass puts them last");
  }
  return AddMove(lowering, node,
                 integer::DepthToSpaceParams{attrs.block_size, attrs.order == DepthOrder::kCrd});
}

// [1, H b, W b, C] -> [1, H, b, W, b, C] -> [1, H, W, b, b, C] -> [1, H, W, b b C].
absl::Status LowerSpaceToDepth(Lowering& lowering, const Node* node) {
  const DepthSpaceAttrs& attrs = node->attrs<DepthSpaceAttrs>();
  if (!attrs.channel_last) {
    return UnsupportedLayer(*node, "channels come first; the layout pass puts them last");
  }
  const Shape& from = node->operand(0)->shape();
  const Shape& to = node->shape();
  const int64_t block = attrs.block_size;
  const ValueScale& scale = lowering.scale(node);
  const std::string name = node->name();
  const int whole = Moved(lowering, node);
  const int split = lowering.AddTensor(absl::StrCat(name, "/split"),
                                       Shape{1, to[1], block, to[2], block, from[3]}, scale);
  const int gathered = lowering.AddTensor(absl::StrCat(name, "/gathered"),
                                          Shape{1, to[1], to[2], block, block, from[3]}, scale);
  lowering.AddLayer(absl::StrCat(name, "/split"), {whole}, split, integer::ReshapeParams{});
  lowering.AddLayer(absl::StrCat(name, "/gather"), {split}, gathered,
                    integer::TransposeParams{{0, 1, 3, 2, 4, 5}});
  lowering.AddLayer(name, {gathered}, lowering.AddValue(node), integer::ReshapeParams{});
  return absl::OkStatus();
}

}  // namespace qb

// Rules that concern operators of every family.
#include <array>

#include "absl/strings/str_cat.h"

#include "core/ops/convolution.h"
#include "core/ops/movement.h"
#include "core/ops/normalization.h"
#include "core/ops/op_def.h"
#include "core/ops/pointwise.h"
#include "core/ops/pooling.h"
#include "core/ops/transpose_convolution.h"
#include "core/target/constraint_rules.h"

namespace qb {
namespace {

constexpr int64_t kMostDimension = int64_t{1} << 24;
constexpr int64_t kMostElements = int64_t{1} << 31;

// Besides pointwise operators, which are tables.
constexpr auto kInstructions = std::to_array<OpKind>({
    OpKind::kConvolution,
    OpKind::kTransposeConvolution,
    OpKind::kMatMul,
    OpKind::kAdding,
    OpKind::kPRelu,
    OpKind::kSub,
    OpKind::kMultiply,
    OpKind::kDiv,
    OpKind::kPow,
    OpKind::kMaximum,
    OpKind::kMinimum,
    OpKind::kBatchnorm,
    OpKind::kSoftmax,
    OpKind::kPooling,
    OpKind::kReduceMean,
    OpKind::kGlobalAveragePooling,
    OpKind::kReduceSum,
    OpKind::kReduceMax,
    OpKind::kReshape,
    OpKind::kTranspose,
    OpKind::kConcatenate,
    OpKind::kSlice,
    OpKind::kGather,
    OpKind::kPad,
    OpKind::kResize,
    OpKind::kDepthToSpace,
    OpKind::kSpaceToDepth,
    OpKind::kLayerNormalization,
    OpKind::kRmsNormalization,
    OpKind::kExpand,
});

bool IsBorder(const Node& node) {
  return node.op() == OpKind::kInput || node.op() == OpKind::kOutput;
}

// Operators on images, which have a batch and channels.
bool IsImageOperator(OpKind op) {
  return IsOneOf(op, {OpKind::kConvolution, OpKind::kTransposeConvolution, OpKind::kPooling,
                      OpKind::kGlobalAveragePooling, OpKind::kResize, OpKind::kDepthToSpace,
                      OpKind::kSpaceToDepth, OpKind::kBatchnorm});
}

bool HasChannelsLast(const Node& node) {
  switch (node.op()) {
    case OpKind::kConvolution:
      return node.attrs<ConvolutionAttrs>().channel_last;
    case OpKind::kTransposeConvolution:
      return node.attrs<TransposeConvolutionAttrs>().channel_last;
    case OpKind::kPooling:
      return node.attrs<PoolingAttrs>().channel_last;
    case OpKind::kGlobalAveragePooling:
      return node.attrs<GlobalAveragePoolingAttrs>().channel_last;
    case OpKind::kDepthToSpace:
    case OpKind::kSpaceToDepth:
      return node.attrs<DepthSpaceAttrs>().channel_last;
    default:
      return true;
  }
}

int64_t VaryingOperands(const Node& node) {
  return std::count_if(node.operands().begin(), node.operands().end(),
                       [](const Node* operand) { return !operand->is_constant(); });
}

// What the vector unit computes without a table: a line between clamps.
bool IsClampedLine(const Node& node) {
  if (IsOneOf(node.op(), {OpKind::kRelu, OpKind::kClip, OpKind::kIdentity, OpKind::kNeg})) {
    return true;
  }
  if (node.op() == OpKind::kDiv) {
    return node.operand(1)->is_constant();
  }
  return IsOneOf(node.op(), {OpKind::kAdding, OpKind::kSub, OpKind::kMultiply, OpKind::kMaximum,
                             OpKind::kMinimum}) &&
         VaryingOperands(node) == 1;
}

}  // namespace

Finding KnownOperator(const Node& node, const SupportContext&) {
  const bool known =
      IsBorder(node) || IsPointwise(node.op()) ||
      std::find(kInstructions.begin(), kInstructions.end(), node.op()) != kInstructions.end();
  return known ? Finding() : Finding(std::string(OpDefOf(node.op()).name));
}

Finding VaryingOperand(const Node& node, const SupportContext&) {
  if (node.op() == OpKind::kInput || VaryingOperands(node) > 0) {
    return std::nullopt;
  }
  return std::string("constants only");
}

Finding FloatValues(const Node& node, const SupportContext&) {
  if (node.op() != OpKind::kOutput && node.type().dtype != DType::kFloat32) {
    return std::string(DTypeName(node.type().dtype));
  }
  for (const Node* operand : node.operands()) {
    if (!operand->is_constant() && operand->type().dtype != DType::kFloat32) {
      return absl::StrCat("'", operand->name(), "' of type ", DTypeName(operand->type().dtype));
    }
  }
  return std::nullopt;
}

Finding LimitedRank(const Node& node, const SupportContext& context) {
  int64_t rank = node.shape().rank();
  for (const Node* operand : node.operands()) {
    rank = std::max(rank, operand->shape().rank());
  }
  if (rank <= context.target.largest_rank) {
    return std::nullopt;
  }
  return absl::StrCat("rank ", rank, " (at most ", context.target.largest_rank, ")");
}

Finding LimitedSize(const Node& node, const SupportContext&) {
  const Shape& shape = node.shape();
  const bool fits =
      shape.elements() <= kMostElements &&
      std::all_of(shape.begin(), shape.end(), [](int64_t dim) { return dim <= kMostDimension; });
  return fits ? Finding() : Finding(shape.ToString());
}

Finding NonEmpty(const Node& node, const SupportContext&) {
  for (const Node* operand : node.operands()) {
    if (operand->shape().elements() == 0) {
      return absl::StrCat("'", operand->name(), "' of shape ", operand->shape().ToString());
    }
  }
  if (node.shape().elements() == 0) {
    return node.shape().ToString();
  }
  return std::nullopt;
}

Finding BatchOne(const Node& node, const SupportContext&) {
  if (!IsImageOperator(node.op()) || (node.shape().rank() > 0 && node.shape()[0] == 1)) {
    return std::nullopt;
  }
  return node.shape().ToString();
}

Finding ChannelsLast(const Node& node, const SupportContext&) {
  return HasChannelsLast(node) ? Finding() : Finding("channels first");
}

Finding LookupUnit(const Node& node, const SupportContext& context) {
  const bool is_table = IsOneOf(node.op(), {OpKind::kSoftmax, OpKind::kLayerNormalization,
                                            OpKind::kRmsNormalization}) ||
                        (context.closures.SourceOf(&node) != nullptr && !IsClampedLine(node));
  if (context.target.lut_unit || !is_table) {
    return std::nullopt;
  }
  return std::string(OpDefOf(node.op()).name);
}

}  // namespace qb

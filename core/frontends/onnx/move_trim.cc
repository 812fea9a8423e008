#include "core/frontends/onnx/move_trim.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

#include "core/ops/movement.h"
#include "core/ops/op_def.h"
#include "core/ops/pointwise.h"
#include "core/ops/selection.h"

namespace qb::onnx_import {
namespace {

bool IsRowwise(OpKind kind) {
  switch (kind) {
    case OpKind::kCast:
    case OpKind::kAdding:
    case OpKind::kSub:
    case OpKind::kMultiply:
    case OpKind::kDiv:
    case OpKind::kPow:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kMod:
    case OpKind::kBitwise:
    case OpKind::kTensorCmp:
    case OpKind::kLogical:
    case OpKind::kWhere:
      return true;
    default:
      return IsPointwise(kind);
  }
}

int64_t Product(const Shape& shape, int64_t from, int64_t to) {
  int64_t product = 1;
  for (int64_t axis = from; axis < to; ++axis) {
    product *= shape[axis];
  }
  return product;
}

// The axis of `result` that holds the same elements in the same order as `axis` of `shape`.
std::optional<int64_t> SameAxis(const Shape& shape, int64_t axis, const Shape& result) {
  const int64_t before = Product(shape, 0, axis);
  for (int64_t candidate = 0; candidate < result.rank(); ++candidate) {
    if (result[candidate] == shape[axis] && Product(result, 0, candidate) == before) {
      return candidate;
    }
  }
  return std::nullopt;
}

// The trimmed axis of the result, when operand `index`, trimmed along `axis`, decides it.
std::optional<int64_t> AxisOfResult(OpKind kind, const Attributes& attrs, const Node& trim,
                                    int64_t index, int64_t axis) {
  const Shape& shape = trim.shape();
  switch (kind) {
    case OpKind::kTranspose: {
      const auto& axes = static_cast<const TransposeAttrs&>(attrs).transpose_axes;
      return std::find(axes.begin(), axes.end(), axis) - axes.begin();
    }
    case OpKind::kReshape:
      return SameAxis(shape, axis, Shape(static_cast<const ReshapeAttrs&>(attrs).new_shape));
    case OpKind::kSlice: {
      const auto& axes = static_cast<const SliceAttrs&>(attrs).axis;
      const bool cuts = std::find(axes.begin(), axes.end(), axis) != axes.end();
      return cuts ? std::nullopt : std::optional<int64_t>(axis);
    }
    case OpKind::kGather: {
      const int64_t gathered = static_cast<const GatherAttrs&>(attrs).axis;
      if (index == 1) {
        return gathered + axis;
      }
      return gathered == axis ? std::nullopt : std::optional<int64_t>(axis);
    }
    default:
      return IsRowwise(kind) ? std::optional<int64_t>(axis) : std::nullopt;
  }
}

absl::Status Refuse(OpKind kind, const Node& trim) {
  return absl::UnimplementedError(absl::StrCat("value '", trim.name(),
                                               "' has a size that only the run knows; ",
                                               OpDefOf(kind).name, " of it is not supported"));
}

}  // namespace

absl::StatusOr<MovedTrim> MoveTrim(OpKind kind, absl::Span<Node* const> operands,
                                   const Attributes& attrs) {
  MovedTrim moved;
  int64_t result_rank = 0;
  for (const Node* operand : operands) {
    result_rank = std::max(result_rank, operand->shape().rank());
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    Node* operand = operands[i];
    moved.operands.push_back(operand);
    if (operand->op() != OpKind::kTrim) {
      continue;
    }
    const int64_t own = operand->attrs<TrimAttrs>().axis;
    const int64_t shift = IsRowwise(kind) ? result_rank - operand->shape().rank() : 0;
    const std::optional<int64_t> axis =
        AxisOfResult(kind, attrs, *operand, static_cast<int64_t>(i), own + shift);
    const bool first = moved.count == nullptr;
    if (!axis.has_value() || operand->operand(0)->op() == OpKind::kTrim ||
        (!first && (moved.count != operand->operand(1) || moved.axis != *axis))) {
      return Refuse(kind, *operand);
    }
    moved.count = operand->operand(1);
    moved.axis = *axis;
    moved.operands.back() = operand->operand(0);
  }
  // Other operands have to repeat along the trimmed axis: that their full size agrees means
  // nothing.
  for (size_t i = 0; i < operands.size() && IsRowwise(kind); ++i) {
    const Shape& shape = operands[i]->shape();
    const int64_t axis = moved.axis - (result_rank - shape.rank());
    if (operands[i]->op() != OpKind::kTrim && axis >= 0 && shape[axis] != 1) {
      return Refuse(kind, *moved.count);
    }
  }
  return moved;
}

}  // namespace qb::onnx_import

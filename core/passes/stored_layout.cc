#include "core/passes/stored_layout.h"

#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/movement.h"
#include "core/passes/permute_tensor.h"

namespace qb {
namespace {

// True when the non-trivial axes keep their order, so that no element moves.
bool KeepsElementOrder(const Shape& shape, const std::vector<int64_t>& axes) {
  int64_t previous = -1;
  for (const int64_t axis : axes) {
    if (shape[axis] != 1) {
      if (axis < previous) {
        return false;
      }
      previous = axis;
    }
  }
  return true;
}

std::string NameInOrder(const std::string& name, const AxisMap& map) {
  if (map == ChannelLastOrder()) {
    return absl::StrCat(name, "/nhwc");
  }
  return absl::StrCat(name, map == SourceOrder(4) ? "/nchw" : "/transposed");
}

}  // namespace

AxisMap SourceOrder(int64_t rank) {
  AxisMap map(static_cast<size_t>(rank));
  std::iota(map.begin(), map.end(), 0);
  return map;
}

AxisMap ChannelLastOrder() { return {0, 3, 1, 2}; }

Shape StoredShape(const Shape& source, const AxisMap& map) {
  Shape shape = source;
  for (int64_t axis = 0; axis < source.rank(); ++axis) {
    shape[map[static_cast<size_t>(axis)]] = source[axis];
  }
  return shape;
}

StoredTensor StoredLayout::Of(Node* node) const {
  const auto found = stored_.find(node);
  return found != stored_.end() ? found->second
                                : StoredTensor{node, SourceOrder(node->shape().rank())};
}

Shape StoredLayout::SourceShape(Node* node) const {
  const StoredTensor stored = Of(node);
  Shape shape = stored.node->shape();
  for (size_t axis = 0; axis < stored.map.size(); ++axis) {
    shape[static_cast<int64_t>(axis)] = stored.node->shape()[stored.map[axis]];
  }
  return shape;
}

absl::StatusOr<Node*> StoredLayout::In(Node* node, const AxisMap& map) {
  const StoredTensor stored = Of(node);
  if (stored.map == map) {
    return stored.node;
  }
  if (node->op() == OpKind::kInput && map == SourceOrder(node->shape().rank())) {
    return node;  // an input is always there in its own order, too
  }
  std::vector<int64_t> axes(map.size());
  for (size_t axis = 0; axis < map.size(); ++axis) {
    axes[static_cast<size_t>(map[axis])] = stored.map[axis];
  }
  Node*& converted = converted_[{stored.node->id(), axes}];
  if (converted == nullptr) {
    QB_ASSIGN_OR_RETURN(converted, Convert(stored, axes, map));
  }
  return converted;
}

absl::StatusOr<Node*> StoredLayout::Convert(const StoredTensor& stored,
                                            const std::vector<int64_t>& axes, const AxisMap& map) {
  const std::string name = NameInOrder(stored.node->name(), map);
  if (stored.node->is_constant()) {
    return graph_.AddConstant(name, PermuteTensor(stored.node->constant(), axes));
  }
  if (KeepsElementOrder(stored.node->shape(), axes)) {
    ReshapeAttrs attrs;
    for (const int64_t axis : axes) {
      attrs.new_shape.push_back(stored.node->shape()[axis]);
    }
    return AddOp(graph_, OpKind::kReshape, name, {stored.node}, std::move(attrs));
  }
  TransposeAttrs attrs;
  attrs.transpose_axes = axes;
  return AddOp(graph_, OpKind::kTranspose, name, {stored.node}, std::move(attrs));
}

absl::Status StoredLayout::Use(Node* user, int64_t index, const AxisMap& map) {
  QB_ASSIGN_OR_RETURN(Node * node, In(user->operand(index), map));
  graph_.ReplaceOperand(user, index, node);
  return absl::OkStatus();
}

absl::StatusOr<Node*> StoredLayout::WithRank(Node* node, int64_t rank) {
  const Shape source = SourceShape(node);
  QB_ASSIGN_OR_RETURN(Node * plain, In(node, SourceOrder(source.rank())));
  Node*& widened = widened_[{plain->id(), rank}];
  if (widened == nullptr) {
    std::vector<int64_t> dims(static_cast<size_t>(rank - source.rank()), 1);
    dims.insert(dims.end(), source.begin(), source.end());
    const std::string name = absl::StrCat(plain->name(), "/rank", rank);
    if (plain->is_constant()) {
      widened = graph_.AddConstant(name, plain->constant().Reshaped(Shape(dims)));
    } else {
      ReshapeAttrs attrs;
      attrs.new_shape = dims;
      QB_ASSIGN_OR_RETURN(widened,
                          AddOp(graph_, OpKind::kReshape, name, {plain}, std::move(attrs)));
    }
  }
  return widened;
}

}  // namespace qb

#include "core/passes/fold_rotation_sign.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/ops/elementwise_value.h"
#include "core/ops/movement.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

// The constant with the sign of places [begin, end) of an axis turned around. `axis` is the
// constant's own.
Tensor Negated(const Tensor& tensor, int64_t axis, int64_t begin, int64_t end) {
  Tensor result = Tensor::Allocate(tensor.type());
  const int64_t extent = tensor.shape()[axis];
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < tensor.shape().rank(); ++i) {
    inner *= tensor.shape()[i];
  }
  const absl::Span<const float> values = tensor.values<float>();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const int64_t place = i / inner % extent;
    const float value = values[static_cast<size_t>(i)];
    result.mutable_data<float>()[i] = place >= begin && place < end ? -value : value;
  }
  return result;
}

// The axis of the table along which `joined` is joined; -1 when its values are not one a place.
int64_t TableAxis(const Node& joined, const Node& table) {
  const int64_t axis = joined.attrs<ConcatenateAttrs>().axis;
  const int64_t own = axis - (joined.shape().rank() - table.shape().rank());
  const bool has_places = own >= 0 && own < table.shape().rank() && joined.shape()[axis] > 1 &&
                          table.shape()[own] == joined.shape()[axis];
  return has_places ? own : -1;
}

bool Fold(Graph& graph, Node* product) {
  Node* joined = product->operand(0);
  Node* table = product->operand(1);
  if (joined->op() != OpKind::kConcatenate || !IsOnlyUsedBy(*joined, *product) ||
      !table->is_constant() || joined->type() != product->type()) {
    return false;
  }
  const int64_t axis = TableAxis(*joined, *table);
  if (axis < 0) {
    return false;
  }
  bool changed = false;
  int64_t begin = 0;
  for (int64_t i = 0; i < joined->operand_count(); ++i) {
    Node* part = joined->operand(i);
    const int64_t end = begin + part->shape()[joined->attrs<ConcatenateAttrs>().axis];
    if (part->op() == OpKind::kNeg) {
      Node* turned = graph.AddConstant(absl::StrCat(table->name(), "/signed"),
                                       Negated(product->operand(1)->constant(), axis, begin, end));
      graph.ReplaceOperand(product, 1, turned);
      graph.ReplaceOperand(joined, i, part->operand(0));
      changed = true;
    }
    begin = end;
  }
  if (changed) {
    graph.Rename(joined, absl::StrCat(joined->name(), "/unsigned"));
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> FoldRotationSign(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (IsPlainElementwise(*node, OpKind::kMultiply)) {
      changed |= Fold(graph, node);
    }
  }
  if (changed) {
    graph.RemoveDeadNodes();
  }
  return changed;
}

}  // namespace qb

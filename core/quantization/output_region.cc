#include "core/quantization/output_region.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops/movement.h"
#include "core/quantization/copied_operand.h"
#include "core/quantization/linear_form.h"

namespace qb {
namespace {

// Layers whose results have a scale of their own. A softmax has a fixed one, and what copies codes
// has that of its operand, which others read too.
bool Writes(const Node& node) {
  return CopiedOperand(node) == nullptr && node.op() != OpKind::kSoftmax &&
         node.op() != OpKind::kConcatenate && node.op() != OpKind::kInput;
}

// A layer with weights, or a table of a 16-bit value, has a multiplier for each channel. Values
// that end somewhere (scores of a sigmoid above all) need all codes in every channel, whether the
// samples have been there or not; and a fused bound has one code for all.
bool StepsByChannel(const Node& value, const PlannedValues& plan) {
  const int64_t rank = value.shape().rank();
  if (rank == 0 || value.shape()[rank - 1] < 2) {
    return false;
  }
  const Interval& proven = plan.proven.at(&value);
  if (std::isfinite(proven.high)) {
    return false;
  }
  if (const Node* source = plan.closures.SourceOf(&value); source != nullptr) {
    return plan.wide.contains(source) && source->shape() == value.shape();
  }
  return IsLinear(value) && (proven.low == 0.0 || std::isinf(proven.low));
}

// Elements behind one index of the axis.
int64_t ElementsBehind(const Shape& shape, int64_t axis) {
  int64_t elements = 1;
  for (int64_t i = axis + 1; i < shape.rank(); ++i) {
    elements *= shape[i];
  }
  return elements;
}

}  // namespace

bool OutputRegion::Moves(const Node& node) {
  switch (node.op()) {
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kConcatenate:
      return true;
    default:
      return false;
  }
}

OutputRegion::OutputRegion(const PlannedValues& plan) {
  Collect(plan);
  for (const Node* value : values_) {
    layouts_[value] = LayoutOf(value, plan);
    if (Moves(*value) || value->op() != OpKind::kSigmoid) {
      continue;
    }
    const Node* argument = value->operand(0);
    const bool alone = std::all_of(argument->users().begin(), argument->users().end(),
                                   [&](const Node* user) { return user == value; });
    if (alone && plan.closures.SourceOf(value) == argument) {
      logits_.insert(argument);
    }
  }
}

void OutputRegion::Collect(const PlannedValues& plan) {
  for (auto value = plan.values.rbegin(); value != plan.values.rend(); ++value) {
    const Node& node = **value;
    const bool moved_on =
        !node.users().empty() &&
        std::all_of(node.users().begin(), node.users().end(), [&](const Node* user) {
          return user->op() == OpKind::kOutput || (members_.contains(user) && Moves(*user));
        });
    if (moved_on && !plan.wide.contains(&node) && (Moves(node) || Writes(node))) {
      members_.insert(&node);
      values_.push_back(&node);
    }
  }
  std::reverse(values_.begin(), values_.end());
}

OutputRegion::Layout OutputRegion::NewSlots(int64_t axis, int64_t count) {
  Layout layout{axis, std::vector<int>(static_cast<size_t>(count))};
  std::iota(layout.slots.begin(), layout.slots.end(), slots_);
  slots_ += static_cast<int>(count);
  return layout;
}

void OutputRegion::TieAll(const Layout& layout, int slot) {
  for (const int other : layout.slots) {
    if (other != slot) {
      ties_.emplace_back(slot, other);
    }
  }
}

OutputRegion::Layout OutputRegion::OneSlot(const Layout& from) {
  TieAll(from, from.slots[0]);
  return {-1, {from.slots[0]}};
}

OutputRegion::Layout OutputRegion::LayoutOf(const Node* node, const PlannedValues& plan) {
  if (!Moves(*node)) {
    if (!StepsByChannel(*node, plan)) {
      return NewSlots(-1, 1);
    }
    channel_writers_.push_back(node);
    const int64_t last = node->shape().rank() - 1;
    return NewSlots(last, node->shape()[last]);
  }
  if (node->op() == OpKind::kConcatenate) {
    return Joined(node);
  }
  Layout from = LayoutOfOperand(node, 0);
  if (from.axis < 0) {
    return from;
  }
  switch (node->op()) {
    case OpKind::kTranspose:
      return Transposed(node, from);
    case OpKind::kSlice:
      return Sliced(node, from);
    default:
      return Reshaped(node, from);
  }
}

OutputRegion::Layout OutputRegion::LayoutOfOperand(const Node* node, int64_t index) {
  const Node* operand = node->operand(index);
  if (contains(operand)) {
    return layouts_.at(operand);
  }
  Layout layout = NewSlots(-1, 1);
  outside_[{node, index}] = layout.slots[0];
  return layout;
}

OutputRegion::Layout OutputRegion::Transposed(const Node* node, const Layout& from) const {
  const std::vector<int64_t>& axes = node->attrs<TransposeAttrs>().transpose_axes;
  const auto place = std::find(axes.begin(), axes.end(), from.axis);
  return {place - axes.begin(), from.slots};
}

// The order of the elements stays. An axis of the result that counts the same places, or whole
// parts of them over and over (channels of several anchors), takes the slots over.
OutputRegion::Layout OutputRegion::Reshaped(const Node* node, const Layout& from) {
  const Shape& shape = node->shape();
  const int64_t behind = ElementsBehind(node->operand(0)->shape(), from.axis);
  const int64_t count = static_cast<int64_t>(from.slots.size());
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const int64_t extent = shape[axis];
    if (extent > 1 && count % extent == 0 && ElementsBehind(shape, axis) == behind) {
      Layout kept{axis, {from.slots.begin(), from.slots.begin() + extent}};
      for (size_t i = static_cast<size_t>(extent); i < from.slots.size(); ++i) {
        ties_.emplace_back(kept.slots[i % static_cast<size_t>(extent)], from.slots[i]);
      }
      return kept;
    }
  }
  return OneSlot(from);
}

OutputRegion::Layout OutputRegion::Sliced(const Node* node, Layout from) const {
  const SliceAttrs& attrs = node->attrs<SliceAttrs>();
  const auto found = std::find(attrs.axis.begin(), attrs.axis.end(), from.axis);
  if (found == attrs.axis.end()) {
    return from;
  }
  const size_t at = static_cast<size_t>(found - attrs.axis.begin());
  Layout taken{from.axis, {}};
  taken.slots.reserve(static_cast<size_t>(node->shape()[from.axis]));
  for (int64_t i = 0; i < node->shape()[from.axis]; ++i) {
    taken.slots.push_back(from.slots[static_cast<size_t>(attrs.start[at] + i * attrs.step[at])]);
  }
  return taken;
}

OutputRegion::Layout OutputRegion::Joined(const Node* node) {
  const int64_t axis = node->attrs<ConcatenateAttrs>().axis;
  std::vector<Layout> parts;
  parts.reserve(static_cast<size_t>(node->operand_count()));
  for (int64_t i = 0; i < static_cast<int64_t>(node->operand_count()); ++i) {
    parts.push_back(LayoutOfOperand(node, i));
  }
  const bool along = std::all_of(parts.begin(), parts.end(), [&](const Layout& part) {
    return part.axis < 0 || part.axis == axis;
  });
  if (!along) {
    return JoinedAcross(parts, axis);
  }
  Layout joined{axis, {}};
  joined.slots.reserve(static_cast<size_t>(node->shape()[axis]));
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t extent = node->operand(static_cast<int64_t>(i))->shape()[axis];
    if (parts[i].axis < 0) {
      joined.slots.insert(joined.slots.end(), static_cast<size_t>(extent), parts[i].slots[0]);
    } else {
      joined.slots.insert(joined.slots.end(), parts[i].slots.begin(), parts[i].slots.end());
    }
  }
  return joined;
}

// Parts that have channels along another axis than the one that they are joined along: channel by
// channel they become one.
OutputRegion::Layout OutputRegion::JoinedAcross(const std::vector<Layout>& parts, int64_t axis) {
  const auto first = std::find_if(parts.begin(), parts.end(), [&](const Layout& part) {
    return part.axis >= 0 && part.axis != axis;
  });
  const bool alike = std::all_of(parts.begin(), parts.end(),
                                 [&](const Layout& part) { return part.axis == first->axis; });
  for (const Layout& part : parts) {
    if (!alike) {
      TieAll(part, first->slots[0]);
      continue;
    }
    for (size_t i = 0; i < part.slots.size(); ++i) {
      ties_.emplace_back(first->slots[i], part.slots[i]);
    }
  }
  return alike ? *first : OneSlot(*first);
}

}  // namespace qb

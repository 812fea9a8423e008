#include "core/passes/reshape_layout.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace qb {
namespace {

// Axes of more than one element; those of one element can stand anywhere.
std::vector<int64_t> WideAxes(const Shape& shape) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1) {
      axes.push_back(axis);
    }
  }
  return axes;
}

// The wide axes in the order in which `map` stores them.
std::vector<int64_t> WideOrder(const Shape& shape, const AxisMap& map) {
  std::vector<int64_t> axes = WideAxes(shape);
  std::sort(axes.begin(), axes.end(), [&](int64_t a, int64_t b) {
    return map[static_cast<size_t>(a)] < map[static_cast<size_t>(b)];
  });
  return axes;
}

// A map that stores the wide axes in this order: a usual one where possible, else the axes of one
// element come first.
AxisMap MapWithWideOrder(const Shape& shape, const std::vector<int64_t>& order) {
  for (const AxisMap& usual : {SourceOrder(shape.rank()), ChannelLastOrder()}) {
    if (static_cast<int64_t>(usual.size()) == shape.rank() && WideOrder(shape, usual) == order) {
      return usual;
    }
  }
  AxisMap map(static_cast<size_t>(shape.rank()));
  int64_t place = 0;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) {
      map[static_cast<size_t>(axis)] = place++;
    }
  }
  for (const int64_t axis : order) {
    map[static_cast<size_t>(axis)] = place++;
  }
  return map;
}

struct AxisGroup {
  std::vector<int64_t> before;  // axes of the source
  std::vector<int64_t> after;   // axes of the target
  int64_t first_place = 0;      // the least place of `before` in the stored order
};

std::vector<AxisGroup> GroupAxes(const Shape& source, const Shape& target) {
  const std::vector<int64_t> before = WideAxes(source);
  const std::vector<int64_t> after = WideAxes(target);
  std::vector<AxisGroup> groups;
  size_t i = 0;
  size_t j = 0;
  while (i < before.size()) {
    AxisGroup group;
    int64_t source_elements = source[before[i]];
    int64_t target_elements = target[after[j]];
    group.before.push_back(before[i++]);
    group.after.push_back(after[j++]);
    while (source_elements != target_elements) {
      if (source_elements < target_elements) {
        source_elements *= source[before[i]];
        group.before.push_back(before[i++]);
      } else {
        target_elements *= target[after[j]];
        group.after.push_back(after[j++]);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

ReshapeLayout PlanReshape(const Shape& source, const AxisMap& stored, const Shape& target) {
  if (source.elements() == 0) {
    return {SourceOrder(source.rank()), SourceOrder(target.rank())};
  }
  const std::vector<int64_t> order = WideOrder(source, stored);
  std::vector<AxisGroup> groups = GroupAxes(source, target);
  for (AxisGroup& group : groups) {
    group.first_place = static_cast<int64_t>(order.size());
    for (const int64_t axis : group.before) {
      const auto place = std::find(order.begin(), order.end(), axis) - order.begin();
      group.first_place = std::min<int64_t>(group.first_place, place);
    }
  }
  std::sort(groups.begin(), groups.end(),
            [](const AxisGroup& a, const AxisGroup& b) { return a.first_place < b.first_place; });
  std::vector<int64_t> operand_order;
  std::vector<int64_t> result_order;
  for (const AxisGroup& group : groups) {
    operand_order.insert(operand_order.end(), group.before.begin(), group.before.end());
    result_order.insert(result_order.end(), group.after.begin(), group.after.end());
  }
  return {operand_order == order ? stored : MapWithWideOrder(source, operand_order),
          MapWithWideOrder(target, result_order)};
}

}  // namespace qb

// How a Reshape acts on a tensor whose axes are stored in another order.
#pragma once

#include "core/ir/shape.h"
#include "core/passes/stored_layout.h"

namespace qb {

struct ReshapeLayout {
  AxisMap operand;  // the order in which the operand must be stored
  AxisMap result;   // the order in which the result is stored then
};

// A Reshape splits and joins neighbouring axes of the source order: its axes fall into groups, each
// with as many elements before as after. Where the axes of each group are neighbours in the stored
// order too, the stored tensor is reshaped as it is and the groups keep their places; elsewhere
// `operand` asks for the order nearest to the stored one that has this property.
// Precondition: `source` and `target` have equally many elements.
ReshapeLayout PlanReshape(const Shape& source, const AxisMap& stored, const Shape& target);

}  // namespace qb

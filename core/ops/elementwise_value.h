// The elementwise operators as functions of numbers.
#pragma once

#include "core/ir/node.h"

namespace qb {

// True for Adding, Sub, Multiply, Div, Pow, Maximum, Minimum.
bool IsElementwise(OpKind op);

// True for the operator `kind`, one of these, in float32 without activation.
bool IsPlainElementwise(const Node& node, OpKind kind);

// The function itself with its activation, in double precision. Precondition:
// IsElementwise(node.op()).
double EvaluateElementwise(const Node& node, double a, double b);

}  // namespace qb

// The trigonometric and hyperbolic functions among the pointwise operators.
#pragma once

#include "core/ir/op_kind.h"

namespace qb {

bool IsTrigonometric(OpKind kind);

// Precondition: IsTrigonometric(kind).
double EvaluateTrigonometric(OpKind kind, double x);

}  // namespace qb

// Adding, Sub, Multiply, Div, Pow, Maximum, Minimum: two operands with NumPy broadcasting.
#pragma once

#include "core/ops/activation.h"
#include "core/ops/op_def.h"

namespace qb {

// Operands: a, b of one dtype -> broadcast shape, same dtype. Div of integers truncates towards
// zero.
struct ElementwiseAttrs final : AttributesOf<ElementwiseAttrs> {
  Activation activation;

  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    Activation::VisitFields(self.activation, visit);
  }
};

absl::StatusOr<TensorType> InferElementwise(const InferenceInput& input);

}  // namespace qb

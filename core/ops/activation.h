// The activation that a convolution, matrix product or elementwise operator applies to its result.
#pragma once

#include <array>
#include <utility>

#include "absl/status/status.h"

#include "core/ir/attributes.h"

namespace qb {

enum class ActivationKind { kNone, kRelu, kClip };

template <>
struct EnumNames<ActivationKind> {
  static constexpr auto kNames = std::to_array<std::pair<ActivationKind, const char*>>({
      {ActivationKind::kNone, "none"},
      {ActivationKind::kRelu, "relu"},
      {ActivationKind::kClip, "clip"},
  });
};

// y = clamp(x, min, max); min and max count for kClip only (either may be infinite). Only clamps
// are fused: they cost nothing in integer arithmetic. Every other function is a node of its own.
struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  float min = 0.0f;
  float max = 0.0f;

  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("activation", self.kind);
    visit("activation_min", self.min);
    visit("activation_max", self.max);
  }
};

// Errors: InvalidArgument for a clip bound that is not a number.
absl::Status CheckActivation(const Activation& activation);

}  // namespace qb

// Mean and deviation of a tensor over some of its axes, however a model spells them out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ir/graph.h"

namespace qb {

// sqrt(variance + epsilon) of `x` over `axes` (sorted). The variance is mean((x - mean)^2), or
// mean(x^2) where it is not centered.
struct Deviation {
  Node* x = nullptr;
  std::vector<int64_t> axes;
  bool centered = true;
  float epsilon = 0.0f;
};

// The deviation that divides, and what the model multiplies it with, when `node` is one of:
//   sqrt(v + epsilon), (v + epsilon)^0.5        MatchDeviation
//   1 / sqrt(..), sqrt(..)^-1, (..)^-0.5        MatchInverseDeviation
// where v is mean((x - mean)^2), mean(x^2) - mean^2 or mean(x^2), a mean is a ReduceMean or a
// ReduceSum times 1 / n, a square is Pow or a product, and v may be clamped at 0. Axes of size 1
// may come and go on the way, but the result has the rank of x with the axes kept as 1, or repeats
// that to the shape of x. Empty for everything else.
std::optional<Deviation> MatchDeviation(Node* node);
std::optional<Deviation> MatchInverseDeviation(Node* node);

// True when `node` is the mean of the deviation's x over its axes, kept as axes of size 1.
bool IsMeanOf(Node* node, const Deviation& deviation);

// True when `node` is x - mean.
bool IsCentered(Node* node, const Deviation& deviation);

}  // namespace qb

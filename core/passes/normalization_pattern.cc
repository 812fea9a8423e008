#include "core/passes/normalization_pattern.h"

#include <algorithm>
#include <cmath>

#include "core/ops/elementwise_value.h"
#include "core/ops/reduce.h"
#include "core/passes/channel_values.h"
#include "core/passes/fused_activation.h"

namespace qb {
namespace {

struct Statistic {
  Node* of = nullptr;
  std::vector<int64_t> axes;
};

std::vector<int64_t> DimsWithoutOnes(const Shape& shape) {
  std::vector<int64_t> dims;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(dims),
               [](int64_t dim) { return dim != 1; });
  return dims;
}

// Below what only adds and removes axes of size 1.
Node* WithoutUnitAxes(Node* node) {
  while ((node->op() == OpKind::kReshape || node->op() == OpKind::kExpand) &&
         DimsWithoutOnes(node->shape()) == DimsWithoutOnes(node->operand(0)->shape())) {
    node = node->operand(0);
  }
  return node;
}

bool IsConstantNear(const Node& node, double value) {
  return IsScalarConstant(node) &&
         std::abs(static_cast<double>(node.constant().values<float>()[0]) - value) <=
             1e-6 * std::abs(value);
}

bool IsPower(const Node& node, double exponent) {
  return IsPlainElementwise(node, OpKind::kPow) && IsConstantNear(*node.operand(1), exponent);
}

// mean(of) over axes.
std::optional<Statistic> MatchMean(Node* node) {
  node = WithoutUnitAxes(node);
  if (node->op() == OpKind::kReduceMean) {
    return Statistic{node->operand(0), node->attrs<ReduceAttrs>().reduce_axes};
  }
  if (!IsPlainElementwise(*node, OpKind::kMultiply)) {
    return std::nullopt;
  }
  Node* sum = WithoutUnitAxes(node->operand(0));
  if (sum->op() != OpKind::kReduceSum) {
    return std::nullopt;
  }
  const double count = static_cast<double>(sum->operand(0)->shape().elements()) /
                       static_cast<double>(std::max<int64_t>(1, sum->shape().elements()));
  if (!IsConstantNear(*node->operand(1), 1.0 / count)) {
    return std::nullopt;
  }
  return Statistic{sum->operand(0), sum->attrs<ReduceAttrs>().reduce_axes};
}

// The v of v^2, or null.
Node* MatchSquare(Node* node) {
  if (IsPower(*node, 2.0)) {
    return node->operand(0);
  }
  const bool is_product = IsPlainElementwise(*node, OpKind::kMultiply);
  return is_product && node->operand(0) == node->operand(1) ? node->operand(0) : nullptr;
}

bool IsClampAtZero(const Node& node) {
  const std::optional<Activation> clamp = ClampOf(node);
  return clamp.has_value() &&
         (clamp->kind == ActivationKind::kRelu || (clamp->min == 0.0f && clamp->max >= 3.4e38f));
}

// mean(x^2) - mean^2.
std::optional<Deviation> MatchDifferenceOfSquares(const Node& node) {
  const std::optional<Statistic> squares = MatchMean(node.operand(0));
  Node* mean = MatchSquare(WithoutUnitAxes(node.operand(1)));
  Node* x = squares.has_value() ? MatchSquare(squares->of) : nullptr;
  if (x == nullptr || mean == nullptr) {
    return std::nullopt;
  }
  const std::optional<Statistic> centre = MatchMean(mean);
  if (!centre.has_value() || centre->of != x || centre->axes != squares->axes) {
    return std::nullopt;
  }
  return Deviation{x, squares->axes, true, 0.0f};
}

std::optional<Deviation> MatchVariance(Node* node) {
  node = WithoutUnitAxes(node);
  if (IsClampAtZero(*node)) {
    node = WithoutUnitAxes(node->operand(0));
  }
  if (IsPlainElementwise(*node, OpKind::kSub)) {
    return MatchDifferenceOfSquares(*node);
  }
  const std::optional<Statistic> mean = MatchMean(node);
  Node* root = mean.has_value() ? MatchSquare(mean->of) : nullptr;
  if (root == nullptr) {
    return std::nullopt;
  }
  if (IsPlainElementwise(*root, OpKind::kSub)) {
    Deviation centered{root->operand(0), mean->axes, true, 0.0f};
    if (IsCentered(root, centered)) {
      return centered;
    }
  }
  return Deviation{root, mean->axes, false, 0.0f};
}

// The shape of x with its axes kept as 1; or that, repeated.
bool KeepsAxes(const Node& node, const Deviation& deviation) {
  Shape kept = deviation.x->shape();
  for (const int64_t axis : deviation.axes) {
    kept[axis] = 1;
  }
  if (node.op() == OpKind::kExpand && node.shape() == deviation.x->shape()) {
    return node.operand(0)->shape() == kept;
  }
  return node.shape() == kept;
}

// Of v + epsilon.
std::optional<Deviation> MatchShiftedVariance(Node* node) {
  node = WithoutUnitAxes(node);
  if (!IsPlainElementwise(*node, OpKind::kAdding) || !IsScalarConstant(*node->operand(1))) {
    return std::nullopt;
  }
  const float epsilon = node->operand(1)->constant().values<float>()[0];
  std::optional<Deviation> deviation = MatchVariance(node->operand(0));
  if (!deviation.has_value() || !(epsilon >= 0.0f) || !std::isfinite(epsilon)) {
    return std::nullopt;
  }
  deviation->epsilon = epsilon;
  return deviation;
}

// Below an Expand, if `node` is one.
Node* Repeated(Node* node) { return node->op() == OpKind::kExpand ? node->operand(0) : node; }

std::optional<Deviation> MatchRoot(Node* node) {
  node = WithoutUnitAxes(node);
  if (node->op() == OpKind::kSqrt || IsPower(*node, 0.5)) {
    return MatchShiftedVariance(node->operand(0));
  }
  return std::nullopt;
}

std::optional<Deviation> MatchInverseRoot(Node* node) {
  node = WithoutUnitAxes(node);
  if (IsPower(*node, -0.5)) {
    return MatchShiftedVariance(node->operand(0));
  }
  if (IsPower(*node, -1.0)) {
    return MatchRoot(node->operand(0));
  }
  if (IsPlainElementwise(*node, OpKind::kDiv) && IsConstantNear(*node->operand(0), 1.0)) {
    return MatchRoot(node->operand(1));
  }
  return std::nullopt;
}

std::optional<Deviation> IfKept(const Node& node, std::optional<Deviation> deviation) {
  return deviation.has_value() && KeepsAxes(node, *deviation) ? std::move(deviation) : std::nullopt;
}

}  // namespace

std::optional<Deviation> MatchDeviation(Node* node) {
  return IfKept(*node, MatchRoot(Repeated(node)));
}

std::optional<Deviation> MatchInverseDeviation(Node* node) {
  return IfKept(*node, MatchInverseRoot(Repeated(node)));
}

bool IsMeanOf(Node* node, const Deviation& deviation) {
  const std::optional<Statistic> mean = MatchMean(Repeated(node));
  return mean.has_value() && mean->of == deviation.x && mean->axes == deviation.axes &&
         KeepsAxes(*node, deviation);
}

bool IsCentered(Node* node, const Deviation& deviation) {
  return IsPlainElementwise(*node, OpKind::kSub) && node->operand(0) == deviation.x &&
         IsMeanOf(node->operand(1), deviation);
}

}  // namespace qb

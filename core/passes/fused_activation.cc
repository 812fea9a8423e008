#include "core/passes/fused_activation.h"

#include <algorithm>
#include <limits>

#include "core/ops/convolution.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/pointwise.h"
#include "core/ops/transpose_convolution.h"

namespace qb {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Bounds {
  float min;
  float max;
};

Bounds BoundsOf(const Activation& activation) {
  switch (activation.kind) {
    case ActivationKind::kRelu:
      return {0.0f, kInfinity};
    case ActivationKind::kClip:
      return {activation.min, activation.max};
    case ActivationKind::kNone:
      break;
  }
  return {-kInfinity, kInfinity};
}

// The lowest and the highest float mean "no bound" in a Clip, and are infinite here, so that equal
// clamps compare equal.
Activation ClampWithin(Bounds bounds) {
  Activation activation;
  const bool no_max = bounds.max >= std::numeric_limits<float>::max();
  if (bounds.min == 0.0f && no_max) {
    activation.kind = ActivationKind::kRelu;
    return activation;
  }
  activation.kind = ActivationKind::kClip;
  // NOLINTNEXTLINE(bugprone-narrowing-conversions): infinity is a float
  activation.min = bounds.min <= std::numeric_limits<float>::lowest() ? -kInfinity : bounds.min;
  // NOLINTNEXTLINE(bugprone-narrowing-conversions)
  activation.max = no_max ? kInfinity : bounds.max;
  return activation;
}

}  // namespace

Activation* FusedActivationOf(Node* node) {
  switch (node->op()) {
    case OpKind::kConvolution:
      return &node->mutable_attrs<ConvolutionAttrs>().activation;
    case OpKind::kTransposeConvolution:
      return &node->mutable_attrs<TransposeConvolutionAttrs>().activation;
    case OpKind::kMatMul:
      return &node->mutable_attrs<MatMulAttrs>().activation;
    case OpKind::kAdding:
    case OpKind::kSub:
    case OpKind::kMultiply:
    case OpKind::kDiv:
    case OpKind::kPow:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
      return &node->mutable_attrs<ElementwiseAttrs>().activation;
    default:
      return nullptr;
  }
}

std::optional<Activation> ClampOf(const Node& node) {
  if (node.op() == OpKind::kRelu) {
    return ClampWithin({0.0f, kInfinity});
  }
  if (node.op() == OpKind::kClip) {
    const auto& attrs = node.attrs<ClipAttrs>();
    return ClampWithin({attrs.clip_min_value, attrs.clip_max_value});
  }
  return std::nullopt;
}

Activation ComposeClamps(const Activation& first, const Activation& second) {
  const Bounds inner = BoundsOf(first);
  const Bounds outer = BoundsOf(second);
  const auto clamp = [&](float x) { return std::min(std::max(x, outer.min), outer.max); };
  // min(max(x, lo), hi) with lo > hi is hi everywhere; then so is the composition.
  return ClampWithin({clamp(std::min(inner.min, inner.max)), clamp(inner.max)});
}

}  // namespace qb

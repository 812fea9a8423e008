#include "core/ops/elementwise_value.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/ops/elementwise.h"

namespace qb {
namespace {

double ApplyActivation(const Activation& activation, double x) {
  switch (activation.kind) {
    case ActivationKind::kNone:
      return x;
    case ActivationKind::kRelu:
      return std::max(x, 0.0);
    case ActivationKind::kClip:
      return std::min(std::max(x, static_cast<double>(activation.min)),
                      static_cast<double>(activation.max));
  }
  return x;
}

}  // namespace

bool IsElementwise(OpKind op) {
  switch (op) {
    case OpKind::kAdding:
    case OpKind::kSub:
    case OpKind::kMultiply:
    case OpKind::kDiv:
    case OpKind::kPow:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
      return true;
    default:
      return false;
  }
}

bool IsPlainElementwise(const Node& node, OpKind kind) {
  return node.op() == kind && node.type().dtype == DType::kFloat32 &&
         node.attrs<ElementwiseAttrs>().activation.kind == ActivationKind::kNone;
}

double EvaluateElementwise(const Node& node, double a, double b) {
  double y = 0.0;
  switch (node.op()) {
    case OpKind::kAdding:
      y = a + b;
      break;
    case OpKind::kSub:
      y = a - b;
      break;
    case OpKind::kMultiply:
      y = a * b;
      break;
    case OpKind::kDiv:
      y = a / b;
      break;
    case OpKind::kPow:
      y = std::pow(a, b);
      break;
    case OpKind::kMaximum:
      y = std::max(a, b);
      break;
    case OpKind::kMinimum:
      y = std::min(a, b);
      break;
    default:
      QB_CHECK_MSG(false, "node '", node.name(), "' is not elementwise");
  }
  return ApplyActivation(node.attrs<ElementwiseAttrs>().activation, y);
}

}  // namespace qb

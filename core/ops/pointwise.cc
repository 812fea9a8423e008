#include "core/ops/pointwise.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/ops/trigonometry.h"

namespace qb {

absl::StatusOr<TensorType> InferPointwise(const InferenceInput& input) { return input.type(0); }

absl::StatusOr<TensorType> InferNumericPointwise(const InferenceInput& input) {
  const DType dtype = input.type(0).dtype;
  if (!IsFloat(dtype) && !IsInteger(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the operand is ", input.type(0).ToString(), "; accepted: a numeric type"));
  }
  return input.type(0);
}

absl::StatusOr<TensorType> InferFloatPointwise(const InferenceInput& input) {
  if (!IsFloat(input.type(0).dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the operand is ", input.type(0).ToString(), "; accepted: a float type"));
  }
  return input.type(0);
}

absl::StatusOr<TensorType> InferClip(const InferenceInput& input) {
  const auto& attrs = input.attributes<ClipAttrs>();
  if (std::isnan(attrs.clip_min_value) || std::isnan(attrs.clip_max_value)) {
    return absl::InvalidArgumentError("a bound of the clip is not a number");
  }
  return InferNumericPointwise(input);
}

absl::StatusOr<TensorType> InferCast(const InferenceInput& input) {
  const std::string& name = input.attributes<CastAttrs>().dtype;
  const std::optional<DType> dtype = DTypeFromName(name);
  if (!dtype.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a cast to '", name, "'; accepted: float32, int64 and the like"));
  }
  return TensorType{*dtype, input.shape(0)};
}

bool IsPointwise(OpKind kind) {
  switch (kind) {
    case OpKind::kIdentity:
    case OpKind::kRelu:
    case OpKind::kLeakyRelu:
    case OpKind::kClip:
    case OpKind::kSigmoid:
    case OpKind::kTanh:
    case OpKind::kHardSigmoid:
    case OpKind::kHardSwish:
    case OpKind::kSwish:
    case OpKind::kElu:
    case OpKind::kExp:
    case OpKind::kLog:
    case OpKind::kSqrt:
    case OpKind::kAbs:
    case OpKind::kNeg:
    case OpKind::kErf:
    case OpKind::kCeil:
    case OpKind::kFloor:
    case OpKind::kSoftplus:
    case OpKind::kCelu:
    case OpKind::kSelu:
    case OpKind::kGelu:
    case OpKind::kMish:
    case OpKind::kSoftsign:
    case OpKind::kShrink:
    case OpKind::kThresholdedRelu:
    case OpKind::kRound:
    case OpKind::kSign:
      return true;
    default:
      return IsTrigonometric(kind);
  }
}

namespace {

double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double Clamp(double x, double least, double most) { return std::min(std::max(x, least), most); }

double Gelu(double x, bool approximate) {
  constexpr double kSqrtHalf = 0.70710678118654752440;
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  return approximate ? 0.5 * x * (1.0 + std::tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x)))
                     : 0.5 * x * (1.0 + std::erf(x * kSqrtHalf));
}

double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double EvaluateWithAttributes(const Node& node, double x) {
  switch (node.op()) {
    case OpKind::kLeakyRelu:
      return x < 0.0 ? node.attrs<LeakyReluAttrs>().leaky_alpha * x : x;
    case OpKind::kClip: {
      const auto& attrs = node.attrs<ClipAttrs>();
      return Clamp(x, attrs.clip_min_value, attrs.clip_max_value);
    }
    case OpKind::kSigmoid:
      return Sigmoid(node.attrs<SigmoidAttrs>().alpha * x);
    case OpKind::kHardSigmoid: {
      const auto& attrs = node.attrs<HardSigmoidAttrs>();
      return Clamp(attrs.alpha * x + attrs.beta, 0.0, 1.0);
    }
    case OpKind::kElu:
      return x < 0.0 ? node.attrs<EluAttrs>().leaky_alpha * std::expm1(x) : x;
    case OpKind::kCelu: {
      const double alpha = node.attrs<CeluAttrs>().alpha;
      return std::max(x, 0.0) + std::min(0.0, alpha * std::expm1(x / alpha));
    }
    case OpKind::kSelu: {
      const auto& attrs = node.attrs<SeluAttrs>();
      return attrs.gamma * (x > 0.0 ? x : attrs.alpha * std::expm1(x));
    }
    case OpKind::kGelu:
      return Gelu(x, node.attrs<GeluAttrs>().approximate);
    case OpKind::kShrink: {
      const auto& attrs = node.attrs<ShrinkAttrs>();
      const double beyond = x > attrs.lambd ? x - attrs.bias : 0.0;
      return x < -attrs.lambd ? x + attrs.bias : beyond;
    }
    case OpKind::kThresholdedRelu:
      return x > node.attrs<ThresholdedReluAttrs>().alpha ? x : 0.0;
    default:
      return EvaluateTrigonometric(node.op(), x);
  }
}

}  // namespace

double EvaluatePointwise(const Node& node, double x) {
  switch (node.op()) {
    case OpKind::kIdentity:
      return x;
    case OpKind::kRelu:
      return std::max(x, 0.0);
    case OpKind::kTanh:
      return std::tanh(x);
    case OpKind::kHardSwish:
      return x * Clamp(x / 6.0 + 0.5, 0.0, 1.0);
    case OpKind::kSwish:
      return x * Sigmoid(x);
    case OpKind::kExp:
      return std::exp(x);
    case OpKind::kLog:
      return std::log(x);
    case OpKind::kSqrt:
      return std::sqrt(x);
    case OpKind::kAbs:
      return std::abs(x);
    case OpKind::kNeg:
      return -x;
    case OpKind::kErf:
      return std::erf(x);
    case OpKind::kCeil:
      return std::ceil(x);
    case OpKind::kFloor:
      return std::floor(x);
    case OpKind::kSoftplus:
      return Softplus(x);
    case OpKind::kMish:
      return x * std::tanh(Softplus(x));
    case OpKind::kSoftsign:
      return x / (1.0 + std::abs(x));
    case OpKind::kRound:
      return std::nearbyint(x);
    case OpKind::kSign:
      return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
    default:
      return EvaluateWithAttributes(node, x);
  }
}

}  // namespace qb

// Functions of one operand, element by element; the result has the operand's type.
#pragma once

#include <string>

#include "core/ops/op_def.h"

namespace qb {

// Relu, Tanh, HardSwish, Swish, Exp, Log, Sqrt, Abs, Neg, Erf, Ceil, Floor, Softplus, Mish, Softsign,
// Round (halves to even), Sign, the trigonometric and hyperbolic functions, Identity: NoAttrs.

// x < 0 ? leaky_alpha * x : x.
struct LeakyReluAttrs final : AttributesOf<LeakyReluAttrs> {
  float leaky_alpha = 0.01f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("leaky_alpha", self.leaky_alpha);
  }
};

// x < 0 ? leaky_alpha * (exp(x) - 1) : x.
struct EluAttrs final : AttributesOf<EluAttrs> {
  float leaky_alpha = 1.0f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("leaky_alpha", self.leaky_alpha);
  }
};

// min(max(x, clip_min_value), clip_max_value); infinities mean "no bound".
struct ClipAttrs final : AttributesOf<ClipAttrs> {
  float clip_min_value = -3.402823466e38f;
  float clip_max_value = 3.402823466e38f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("clip_min_value", self.clip_min_value);
    visit("clip_max_value", self.clip_max_value);
  }
};

// 1 / (1 + exp(-alpha x)).
struct SigmoidAttrs final : AttributesOf<SigmoidAttrs> {
  float alpha = 1.0f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("alpha", self.alpha);
  }
};

// max(0, min(1, alpha x + beta)).
struct HardSigmoidAttrs final : AttributesOf<HardSigmoidAttrs> {
  float alpha = 0.2f;
  float beta = 0.5f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("alpha", self.alpha);
    visit("beta", self.beta);
  }
};

// max(0, x) + min(0, alpha (exp(x / alpha) - 1)).
struct CeluAttrs final : AttributesOf<CeluAttrs> {
  float alpha = 1.0f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("alpha", self.alpha);
  }
};

// gamma * (x > 0 ? x : alpha (exp(x) - 1)).
struct SeluAttrs final : AttributesOf<SeluAttrs> {
  float alpha = 1.67326319217681884765625f;
  float gamma = 1.05070102214813232421875f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("alpha", self.alpha);
    visit("gamma", self.gamma);
  }
};

// x / 2 * (1 + erf(x / sqrt 2)); approximate: x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
struct GeluAttrs final : AttributesOf<GeluAttrs> {
  bool approximate = false;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("approximate", self.approximate);
  }
};

// x < -lambd ? x + bias : x > lambd ? x - bias : 0. Hardshrink has bias 0, Softshrink bias = lambd.
struct ShrinkAttrs final : AttributesOf<ShrinkAttrs> {
  float lambd = 0.5f;
  float bias = 0.0f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("lambd", self.lambd);
    visit("bias", self.bias);
  }
};

// x > alpha ? x : 0.
struct ThresholdedReluAttrs final : AttributesOf<ThresholdedReluAttrs> {
  float alpha = 1.0f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("alpha", self.alpha);
  }
};

struct CastAttrs final : AttributesOf<CastAttrs> {
  std::string dtype = "float32";  // a name of core/ir/dtype.h
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("dtype", self.dtype);
  }
};

// Of any type; of any numeric type; of a float type; a numeric type with bounds that are numbers.
absl::StatusOr<TensorType> InferPointwise(const InferenceInput& input);
absl::StatusOr<TensorType> InferNumericPointwise(const InferenceInput& input);
absl::StatusOr<TensorType> InferFloatPointwise(const InferenceInput& input);
absl::StatusOr<TensorType> InferClip(const InferenceInput& input);
absl::StatusOr<TensorType> InferCast(const InferenceInput& input);

// True for the operators of this file but Cast: one operand, no data movement, a function of the
// element alone. A chain of them is one lookup table.
bool IsPointwise(OpKind kind);

// The function itself in double precision, for tables and tests. Precondition:
// IsPointwise(node.op()).
double EvaluatePointwise(const Node& node, double x);

}  // namespace qb

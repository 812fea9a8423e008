// Batchnorm (inference form) and Softmax.
#pragma once

#include <cstdint>

#include "core/ops/op_def.h"

namespace qb {

// Operands: x, gamma [C], beta [C], moving_mean [C], moving_var [C] -> x's type; C = x's dimension
// `axis`. y = (x - mean) / sqrt(var + epsilon) * gamma + beta.
struct BatchnormAttrs final : AttributesOf<BatchnormAttrs> {
  static constexpr int64_t kInput = 0, kGamma = 1, kBeta = 2, kMean = 3, kVariance = 4;
  float epsilon = 1e-5f;
  int64_t axis = 1;  // >= 0
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("epsilon", self.epsilon);
    visit("axis", self.axis);
  }
};

// exp(beta x) / sum over `axis` (>= 0).
struct SoftmaxAttrs final : AttributesOf<SoftmaxAttrs> {
  float beta = 1.0f;
  int64_t axis = 0;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("beta", self.beta);
    visit("axis", self.axis);
  }
};

absl::StatusOr<TensorType> InferBatchnorm(const InferenceInput& input);
absl::StatusOr<TensorType> InferSoftmax(const InferenceInput& input);

}  // namespace qb

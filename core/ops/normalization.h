// Batchnorm (inference form), Softmax, and the normalizations by statistics of the sample itself.
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

// Operands: x, scale, bias? -> x's type. Over all axes from `axis` (>= 0) on: y = (x - mean) /
// sqrt(var + epsilon) * scale + bias; scale and bias have the shape of those axes.
struct LayerNormalizationAttrs final : AttributesOf<LayerNormalizationAttrs> {
  static constexpr int64_t kInput = 0, kScale = 1, kBias = 2;
  int64_t axis = 0;
  float epsilon = 1e-5f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("epsilon", self.epsilon);
  }
};

// Operands: x, scale. Over all axes from `axis` (>= 0) on: y = x / sqrt(mean(x^2) + epsilon) * scale.
struct RmsNormalizationAttrs final : AttributesOf<RmsNormalizationAttrs> {
  int64_t axis = 0;
  float epsilon = 1e-5f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("epsilon", self.epsilon);
  }
};

// Operands: x [N, C, ...], scale [C], bias [C] -> x's type. Statistics over the C / num_groups
// channels of a group and all axes behind; num_groups = C is instance normalization.
struct GroupNormalizationAttrs final : AttributesOf<GroupNormalizationAttrs> {
  static constexpr int64_t kInput = 0, kScale = 1, kBias = 2;
  int64_t num_groups = 1;
  float epsilon = 1e-5f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("num_groups", self.num_groups);
    visit("epsilon", self.epsilon);
  }
};

absl::StatusOr<TensorType> InferBatchnorm(const InferenceInput& input);
absl::StatusOr<TensorType> InferSoftmax(const InferenceInput& input);
absl::StatusOr<TensorType> InferLayerNormalization(const InferenceInput& input);
absl::StatusOr<TensorType> InferRmsNormalization(const InferenceInput& input);
absl::StatusOr<TensorType> InferGroupNormalization(const InferenceInput& input);

}  // namespace qb

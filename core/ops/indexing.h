// Reading and writing elements at places that a tensor names. Indices are int32 or int64; negative
// ones count from the end.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "core/ops/movement.h"
#include "core/ops/op_def.h"

namespace qb {

// GatherElements (GatherAttrs): operands data, indices of the same rank -> the indices' shape;
// result[i][j] = data[indices[i][j]][j] for axis 0.

// Operands data, indices [batch..., ..., depth]: the last axis of `indices` names places in the
// axes of `data` after the batch_dims common ones. Source: ONNX GatherND.
struct GatherNDAttrs final : AttributesOf<GatherNDAttrs> {
  int64_t batch_dims = 0;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("batch_dims", self.batch_dims);
  }
};

// What happens to the element that is there.
enum class ScatterReduction { kNone, kAdd, kMul, kMax, kMin };

template <>
struct EnumNames<ScatterReduction> {
  static constexpr auto kNames = std::to_array<std::pair<ScatterReduction, const char*>>({
      {ScatterReduction::kNone, "none"},
      {ScatterReduction::kAdd, "add"},
      {ScatterReduction::kMul, "mul"},
      {ScatterReduction::kMax, "max"},
      {ScatterReduction::kMin, "min"},
  });
};

// Operands data, indices, updates (indices and updates of one shape) -> data's type;
// result[indices[i][j]][j] = updates[i][j] for axis 0, in order of the updates.
struct ScatterElementsAttrs final : AttributesOf<ScatterElementsAttrs> {
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("reduction", self.reduction);
  }
};

// Operands data, indices [..., depth], updates [..., data's axes from depth on] -> data's type.
struct ScatterNDAttrs final : AttributesOf<ScatterNDAttrs> {
  ScatterReduction reduction = ScatterReduction::kNone;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("reduction", self.reduction);
  }
};

// Operands data, lengths [batch]: the first lengths[b] elements along time_axis are reversed.
struct ReverseSequenceAttrs final : AttributesOf<ReverseSequenceAttrs> {
  int64_t batch_axis = 1;
  int64_t time_axis = 0;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("batch_axis", self.batch_axis);
    visit("time_axis", self.time_axis);
  }
};

absl::StatusOr<TensorType> InferGatherElements(const InferenceInput& input);
absl::StatusOr<TensorType> InferGatherND(const InferenceInput& input);
absl::StatusOr<TensorType> InferScatterElements(const InferenceInput& input);
absl::StatusOr<TensorType> InferScatterND(const InferenceInput& input);
absl::StatusOr<TensorType> InferReverseSequence(const InferenceInput& input);

}  // namespace qb

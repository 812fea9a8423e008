// Comparisons, logic, bits, the remainder and Where: two or three operands with NumPy broadcasting.
#pragma once

#include <array>
#include <utility>

#include "core/ops/op_def.h"

namespace qb {

enum class CmpKind { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

template <>
struct EnumNames<CmpKind> {
  static constexpr auto kNames = std::to_array<std::pair<CmpKind, const char*>>({
      {CmpKind::kEqual, "eq"},
      {CmpKind::kNotEqual, "neq"},
      {CmpKind::kLess, "lt"},
      {CmpKind::kLessEqual, "le"},
      {CmpKind::kGreater, "gt"},
      {CmpKind::kGreaterEqual, "ge"},
  });
};

// Operands: a, b of one type (bool too) -> bool.
struct TensorCmpAttrs final : AttributesOf<TensorCmpAttrs> {
  CmpKind kind = CmpKind::kEqual;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("kind", self.kind);
  }
};

enum class LogicKind { kAnd, kOr, kXor, kNot };

template <>
struct EnumNames<LogicKind> {
  static constexpr auto kNames = std::to_array<std::pair<LogicKind, const char*>>({
      {LogicKind::kAnd, "and"},
      {LogicKind::kOr, "or"},
      {LogicKind::kXor, "xor"},
      {LogicKind::kNot, "not"},
  });
};

// Operands: one bool for kNot, else two.
struct LogicalAttrs final : AttributesOf<LogicalAttrs> {
  LogicKind kind = LogicKind::kAnd;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("kind", self.kind);
  }
};

enum class BitKind { kAnd, kOr, kXor, kShiftLeft, kShiftRight };

template <>
struct EnumNames<BitKind> {
  static constexpr auto kNames = std::to_array<std::pair<BitKind, const char*>>({
      {BitKind::kAnd, "and"},
      {BitKind::kOr, "or"},
      {BitKind::kXor, "xor"},
      {BitKind::kShiftLeft, "shift_left"},
      {BitKind::kShiftRight, "shift_right"},
  });
};

// Operands: two of one integer type. Shifts are of numbers >= 0; one by
// the width or more gives 0.
struct BitwiseAttrs final : AttributesOf<BitwiseAttrs> {
  BitKind kind = BitKind::kAnd;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("kind", self.kind);
  }
};

// The remainder has the sign of the divisor, with fmod that of the dividend (as C's fmod).
struct ModAttrs final : AttributesOf<ModAttrs> {
  bool fmod = false;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("fmod", self.fmod);
  }
};

// Where: operands condition (bool), x, y of one type -> their broadcast shape.

absl::StatusOr<TensorType> InferTensorCmp(const InferenceInput& input);
absl::StatusOr<TensorType> InferLogical(const InferenceInput& input);
absl::StatusOr<TensorType> InferBitwise(const InferenceInput& input);
absl::StatusOr<TensorType> InferMod(const InferenceInput& input);
absl::StatusOr<TensorType> InferWhere(const InferenceInput& input);

}  // namespace qb

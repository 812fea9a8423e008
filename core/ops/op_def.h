// What an operator is: its name, its arity, its attributes and how its result type follows.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/ir/attributes.h"
#include "core/ir/node.h"
#include "core/ir/op_kind.h"

namespace qb {

// What type inference sees of a node that may not exist yet.
struct InferenceInput {
  absl::Span<Node* const> operands;
  const Attributes* attrs = nullptr;

  const TensorType& type(int64_t index) const {
    return operands[static_cast<size_t>(index)]->type();
  }
  const Shape& shape(int64_t index) const { return type(index).shape; }
  template <typename A>
  const A& attributes() const {
    return static_cast<const A&>(*attrs);
  }
};

struct OpDef {
  OpKind kind;
  absl::string_view name;  // as in files and in the text form
  int64_t min_operands;
  int64_t max_operands;  // kVariadic: any number
  std::unique_ptr<Attributes> (*make_attributes)();
  // The result's type, after checking operands and attributes. Errors: InvalidArgument without the
  // node's name (callers add it): what, what was found, what is accepted.
  absl::StatusOr<TensorType> (*infer)(const InferenceInput& input);
};

inline constexpr int64_t kVariadic = 1 << 20;

// One row per OpKind, in enum order (all_ops.cc).
absl::Span<const OpDef> AllOps();
const OpDef& OpDefOf(OpKind kind);
// Null when unknown.
const OpDef* FindOpDef(absl::string_view name);

}  // namespace qb

// Node: one operator of a graph, and at the same time the tensor that it produces.
//
// Every operator has exactly one result (ONNX Split becomes slices, TopK two operators), so a value
// and the node that computes it are one thing and def/use cannot drift apart.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/ir/attributes.h"
#include "core/ir/op_kind.h"
#include "core/ir/shape.h"
#include "core/ir/tensor.h"

namespace qb {

class Graph;

// Owned and changed by Graph; users see it const or through Graph's methods. Thread-compatible.
class Node {
 public:
  OpKind op() const { return op_; }
  // Unique in the graph, never empty: the name of the source model's tensor where there is one.
  const std::string& name() const { return name_; }
  // Creation order; never reused within a graph.
  int64_t id() const { return id_; }
  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }

  absl::Span<Node* const> operands() const { return operands_; }
  Node* operand(int64_t index) const { return operands_[static_cast<size_t>(index)]; }
  int64_t operand_count() const { return static_cast<int64_t>(operands_.size()); }
  // One entry for each use, in order of creation; a node that uses this one twice is listed twice.
  absl::Span<Node* const> users() const { return users_; }

  const Attributes& attributes() const { return *attrs_; }
  // The attributes as A. Precondition: they are an A (QB_CHECK on the operator's table is in ops).
  template <typename A>
  const A& attrs() const {
    return static_cast<const A&>(*attrs_);
  }
  template <typename A>
  A& mutable_attrs() {
    return static_cast<A&>(*attrs_);
  }

  bool is_constant() const { return op_ == OpKind::kInputConstant; }
  // Precondition: is_constant().
  const Tensor& constant() const {
    QB_CHECK(is_constant());
    return constant_;
  }

 private:
  friend class Graph;
  Node() = default;

  OpKind op_ = OpKind::kIdentity;
  int64_t id_ = 0;
  std::string name_;
  TensorType type_;
  std::vector<Node*> operands_;
  std::vector<Node*> users_;
  std::unique_ptr<Attributes> attrs_;
  Tensor constant_;
};

}  // namespace qb

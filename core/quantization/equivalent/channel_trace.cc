#include "core/quantization/equivalent/channel_trace.h"

#include <algorithm>

#include "core/execute/evaluate.h"

namespace qb {
namespace {

bool IsScalarConstant(const Node& node) {
  return node.is_constant() && node.constant().elements() == 1;
}

// The operand that `node` passes on element by element, or -1.
int64_t PassedOperand(const Node& node) {
  switch (node.op()) {
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kIdentity:
      return 0;
    case OpKind::kMultiply:
      return IsScalarConstant(*node.operand(1)) ? 0 : (IsScalarConstant(*node.operand(0)) ? 1 : -1);
    case OpKind::kDiv:
      return IsScalarConstant(*node.operand(1)) ? 0 : -1;
    default:
      return -1;
  }
}

bool IsMovement(const Node& node) {
  return node.op() == OpKind::kReshape || node.op() == OpKind::kTranspose ||
         node.op() == OpKind::kSlice;
}

// Whether slices that have no element in common are all that reads it. Floats count up to 2^24.
bool IsPartedBySlices(const Node& node) {
  const int64_t count = node.shape().elements();
  if (count > (int64_t{1} << 24)) {
    return false;
  }
  Tensor numbers = Tensor::Allocate(node.type());
  for (int64_t i = 0; i < count; ++i) {
    numbers.mutable_data<float>()[i] = static_cast<float>(i);
  }
  std::vector<bool> taken(static_cast<size_t>(count), false);
  for (const Node* user : node.users()) {
    const absl::StatusOr<Tensor> part = user->op() == OpKind::kSlice
                                            ? EvaluateNode(*user, {{numbers}})
                                            : absl::InternalError("no slice");
    if (!part.ok()) {
      return false;
    }
    for (const float number : part->values<float>()) {
      const auto at = static_cast<size_t>(number);
      if (taken[at]) {
        return false;
      }
      taken[at] = true;
    }
  }
  return true;
}

}  // namespace

Node* SourceThroughMovement(Node* value) {
  while (true) {
    if (value->is_constant() || value->users().empty() ||
        (value->users().size() > 1 && !IsPartedBySlices(*value))) {
      return nullptr;
    }
    const int64_t operand = PassedOperand(*value);
    if (operand < 0) {
      return value;
    }
    value = value->operand(operand);
  }
}

std::vector<float> TraceChannels(const Node& source, const Node& value,
                                 const std::vector<float>& channel_of) {
  std::vector<const Node*> way;
  for (const Node* node = &value; node != &source; node = node->operand(PassedOperand(*node))) {
    way.push_back(node);
  }
  Tensor numbers = Tensor::Allocate(source.type());
  for (int64_t i = 0; i < numbers.elements(); ++i) {
    numbers.mutable_data<float>()[i] = channel_of[static_cast<size_t>(i) % channel_of.size()];
  }
  std::reverse(way.begin(), way.end());
  for (const Node* node : way) {
    if (!IsMovement(*node)) {
      continue;
    }
    absl::StatusOr<Tensor> moved = EvaluateNode(*node, {{numbers}});
    if (!moved.ok()) {
      return {};
    }
    numbers = *std::move(moved);
  }
  const absl::Span<const float> values = numbers.values<float>();
  return {values.begin(), values.end()};
}

std::optional<std::vector<int64_t>> ConstantAlong(const std::vector<float>& numbers,
                                                  int64_t channels, int64_t inner) {
  const auto count = static_cast<int64_t>(numbers.size());
  if (channels <= 0 || inner <= 0 || count == 0 || count % (channels * inner) != 0) {
    return std::nullopt;
  }
  std::vector<int64_t> of_channel(static_cast<size_t>(channels), -1);
  for (int64_t i = 0; i < count; ++i) {
    int64_t& own = of_channel[static_cast<size_t>(i / inner % channels)];
    const auto number = static_cast<int64_t>(numbers[static_cast<size_t>(i)]);
    if (own >= 0 && own != number) {
      return std::nullopt;
    }
    own = number;
  }
  return of_channel;
}

}  // namespace qb

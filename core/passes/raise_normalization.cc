#include "core/passes/raise_normalization.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/elementwise_value.h"
#include "core/ops/movement.h"
#include "core/ops/normalization.h"
#include "core/passes/delayed_take_overs.h"
#include "core/passes/normalization_pattern.h"

namespace qb {
namespace {

struct Pattern {
  Deviation deviation;
  Node* last = nullptr;        // the node that the normalization replaces
  std::vector<Node*> factors;  // constants
  Node* addend = nullptr;      // a constant, or null
};

// A float32 constant, or null.
Node* Constant(Node* node) {
  return node->is_constant() && node->type().dtype == DType::kFloat32 ? node : nullptr;
}

// True when the constant varies along the normalized axes of x only and holds finite numbers.
bool FitsAxes(const Node& constant, const Deviation& deviation) {
  const Shape& shape = deviation.x->shape();
  const int64_t missing = shape.rank() - constant.shape().rank();
  for (int64_t axis = 0; axis < constant.shape().rank(); ++axis) {
    const int64_t dim = constant.shape()[axis];
    const bool normalized = std::find(deviation.axes.begin(), deviation.axes.end(),
                                      axis + missing) != deviation.axes.end();
    if (missing < 0 || (dim != 1 && (!normalized || dim != shape[axis + missing]))) {
      return false;
    }
  }
  const absl::Span<const float> values = constant.constant().values<float>();
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

// Takes a product with a constant apart: `node` becomes its varying operand.
Node* TakeFactor(Node*& node) {
  Node* factor =
      IsPlainElementwise(*node, OpKind::kMultiply) ? Constant(node->operand(1)) : nullptr;
  if (factor != nullptr) {
    node = node->operand(0);
  }
  return factor;
}

void AddFactor(Pattern& pattern, Node* factor) {
  if (factor != nullptr) {
    pattern.factors.push_back(factor);
  }
}

bool Numerates(Node* node, const Deviation& deviation) {
  return deviation.centered ? IsCentered(node, deviation) : node == deviation.x;
}

// numerator / d, or numerator * inverse.
std::optional<Pattern> MatchQuotient(Node* node, Node* numerator, Node* divisor) {
  Pattern pattern;
  pattern.last = node;
  std::optional<Deviation> deviation;
  if (node->op() == OpKind::kDiv) {
    deviation = MatchDeviation(divisor);
  } else {
    AddFactor(pattern, TakeFactor(divisor));
    deviation = MatchInverseDeviation(divisor);
  }
  if (!deviation.has_value()) {
    return std::nullopt;
  }
  if (!Numerates(numerator, *deviation)) {
    AddFactor(pattern, TakeFactor(numerator));
    if (!Numerates(numerator, *deviation)) {
      return std::nullopt;
    }
  }
  pattern.deviation = *std::move(deviation);
  return pattern;
}

// The operand of the product beside `known`; null when it is no such product.
Node* OtherFactor(const Node& node, const Node* known) {
  if (!IsPlainElementwise(node, OpKind::kMultiply)) {
    return nullptr;
  }
  return node.operand(0) == known   ? node.operand(1)
         : node.operand(1) == known ? node.operand(0)
                                    : nullptr;
}

// The node of which `node` is the negative, or null.
Node* Negated(Node* node) {
  if (node->op() == OpKind::kNeg) {
    return node->operand(0);
  }
  Node* factor = TakeFactor(node);
  const bool is_minus = factor != nullptr && factor->shape().elements() == 1 &&
                        factor->constant().values<float>()[0] == -1.0f;
  return is_minus ? node : nullptr;
}

// The mean in what is added to x * inverse: beta - mean * inverse, and the same without beta or
// with -mean. Null when it is something else.
Node* MatchShift(Node* shift, const Node* inverse, bool subtracted, Node*& beta) {
  bool negative = subtracted;
  if (!subtracted && IsPlainElementwise(*shift, OpKind::kSub)) {
    beta = Constant(shift->operand(0));
    if (beta == nullptr) {
      return nullptr;
    }
    shift = shift->operand(1);
    negative = true;
  } else if (!subtracted && IsPlainElementwise(*shift, OpKind::kAdding)) {
    beta = Constant(shift->operand(1));
    if (beta == nullptr) {
      return nullptr;
    }
    shift = shift->operand(0);
  }
  Node* mean = OtherFactor(*shift, inverse);
  return mean == nullptr || negative ? mean : Negated(mean);
}

// scaled + shift or scaled - shift, where scaled is x * inverse.
std::optional<Pattern> MatchShifted(Node* node, const Node& scaled, Node* shift) {
  if (!IsPlainElementwise(scaled, OpKind::kMultiply)) {
    return std::nullopt;
  }
  for (const int64_t i : {0, 1}) {
    Pattern pattern;
    pattern.last = node;
    Node* inverse = scaled.operand(i);
    Node* mean = MatchShift(shift, inverse, node->op() == OpKind::kSub, pattern.addend);
    if (mean == nullptr) {
      continue;
    }
    AddFactor(pattern, TakeFactor(inverse));
    std::optional<Deviation> deviation = MatchInverseDeviation(inverse);
    if (deviation.has_value() && deviation->centered && deviation->x == scaled.operand(1 - i) &&
        IsMeanOf(mean, *deviation)) {
      pattern.deviation = *std::move(deviation);
      return pattern;
    }
  }
  return std::nullopt;
}

std::optional<Pattern> MatchCore(Node* node) {
  if (IsPlainElementwise(*node, OpKind::kDiv)) {
    return MatchQuotient(node, node->operand(0), node->operand(1));
  }
  std::optional<Pattern> pattern;
  if (IsPlainElementwise(*node, OpKind::kMultiply)) {
    pattern = MatchQuotient(node, node->operand(0), node->operand(1));
    return pattern.has_value() ? pattern : MatchQuotient(node, node->operand(1), node->operand(0));
  }
  if (IsPlainElementwise(*node, OpKind::kAdding) || IsPlainElementwise(*node, OpKind::kSub)) {
    pattern = MatchShifted(node, *node->operand(0), node->operand(1));
    if (!pattern.has_value() && node->op() == OpKind::kAdding) {
      pattern = MatchShifted(node, *node->operand(1), node->operand(0));
    }
  }
  return pattern;
}

// Takes in the factors and the addend behind the core.
void TakeUsers(Pattern& pattern) {
  while (pattern.addend == nullptr && pattern.last->users().size() == 1) {
    Node* user = pattern.last->users()[0];
    const bool scales = IsPlainElementwise(*user, OpKind::kMultiply);
    const bool shifts = pattern.deviation.centered && IsPlainElementwise(*user, OpKind::kAdding);
    Node* constant = scales || shifts ? Constant(user->operand(1)) : nullptr;
    if (constant == nullptr || user->type() != pattern.last->type() ||
        !FitsAxes(*constant, pattern.deviation)) {
      return;
    }
    if (scales) {
      pattern.factors.push_back(constant);
    } else {
      pattern.addend = constant;
    }
    pattern.last = user;
  }
}

std::optional<Pattern> Match(Node* node) {
  std::optional<Pattern> pattern = MatchCore(node);
  if (!pattern.has_value() || node->type() != pattern->deviation.x->type()) {
    return std::nullopt;
  }
  const auto fits = [&](const Node* constant) { return FitsAxes(*constant, pattern->deviation); };
  if (!std::all_of(pattern->factors.begin(), pattern->factors.end(), fits) ||
      (pattern->addend != nullptr && !fits(pattern->addend))) {
    return std::nullopt;
  }
  TakeUsers(*pattern);
  return pattern;
}

Shape NormalizedShape(const Deviation& deviation) {
  std::vector<int64_t> dims;
  for (const int64_t axis : deviation.axes) {
    dims.push_back(deviation.x->shape()[axis]);
  }
  return Shape(dims);
}

// The constant's value at every place of the normalized axes. Precondition: FitsAxes.
std::vector<float> Spread(const Node& constant, const Deviation& deviation) {
  const int64_t missing = deviation.x->shape().rank() - constant.shape().rank();
  std::vector<int64_t> steps(static_cast<size_t>(deviation.x->shape().rank()), 0);
  int64_t step = 1;
  for (int64_t axis = constant.shape().rank() - 1; axis >= 0; --axis) {
    if (constant.shape()[axis] != 1) {
      steps[static_cast<size_t>(axis + missing)] = step;
    }
    step *= constant.shape()[axis];
  }
  const absl::Span<const float> values = constant.constant().values<float>();
  std::vector<float> spread;
  const int64_t count = NormalizedShape(deviation).elements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    int64_t place = 0;
    for (auto axis = deviation.axes.rbegin(); axis != deviation.axes.rend(); ++axis) {
      place += rest % deviation.x->shape()[*axis] * steps[static_cast<size_t>(*axis)];
      rest /= deviation.x->shape()[*axis];
    }
    spread.push_back(values[static_cast<size_t>(place)]);
  }
  return spread;
}

// A parameter of the normalization: the model's own constant where that is it.
Node* AddParameter(Graph& graph, const Pattern& pattern, const std::vector<Node*>& constants,
                   const char* suffix, float neutral) {
  const Shape shape = NormalizedShape(pattern.deviation);
  if (constants.size() == 1 && constants[0]->shape() == shape) {
    return constants[0];
  }
  Tensor value = Tensor::Allocate({DType::kFloat32, shape});
  float* out = value.mutable_data<float>();
  std::fill_n(out, shape.elements(), neutral);
  for (const Node* constant : constants) {
    const std::vector<float> spread = Spread(*constant, pattern.deviation);
    for (size_t i = 0; i < spread.size(); ++i) {
      out[i] = neutral == 0.0f ? spread[i] : out[i] * spread[i];
    }
  }
  return graph.AddConstant(absl::StrCat(pattern.last->name(), suffix), std::move(value));
}

absl::StatusOr<Node*> AddNormalization(Graph& graph, const Pattern& pattern, Node* x,
                                       absl::string_view name) {
  const Deviation& deviation = pattern.deviation;
  const int64_t axis = x->shape().rank() - static_cast<int64_t>(deviation.axes.size());
  Node* scale = AddParameter(graph, pattern, pattern.factors, "/scale", 1.0f);
  if (!deviation.centered) {
    RmsNormalizationAttrs attrs;
    attrs.axis = axis;
    attrs.epsilon = deviation.epsilon;
    return AddOp(graph, OpKind::kRmsNormalization, name, {x, scale}, std::move(attrs));
  }
  LayerNormalizationAttrs attrs;
  attrs.axis = axis;
  attrs.epsilon = deviation.epsilon;
  std::vector<Node*> operands = {x, scale};
  if (pattern.addend != nullptr) {
    operands.push_back(AddParameter(graph, pattern, {pattern.addend}, "/bias", 0.0f));
  }
  return AddOp(graph, OpKind::kLayerNormalization, name, operands, std::move(attrs));
}

absl::StatusOr<Node*> AddTranspose(Graph& graph, Node* x, std::vector<int64_t> axes,
                                   absl::string_view name) {
  TransposeAttrs attrs;
  attrs.transpose_axes = std::move(axes);
  return AddOp(graph, OpKind::kTranspose, name, {x}, std::move(attrs));
}

// Adds what computes the pattern's last node.
absl::StatusOr<Node*> AddReplacement(Graph& graph, const Pattern& pattern) {
  Node* x = pattern.deviation.x;
  const std::string& name = pattern.last->name();
  std::vector<int64_t> order(static_cast<size_t>(x->shape().rank()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(), [&](int64_t axis) {
    return !std::binary_search(pattern.deviation.axes.begin(), pattern.deviation.axes.end(), axis);
  });
  if (std::is_sorted(order.begin(), order.end())) {
    return AddNormalization(graph, pattern, x, name);
  }
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  QB_ASSIGN_OR_RETURN(x, AddTranspose(graph, x, order, absl::StrCat(name, "/last")));
  QB_ASSIGN_OR_RETURN(x, AddNormalization(graph, pattern, x, absl::StrCat(name, "/normalized")));
  return AddTranspose(graph, x, std::move(back), name);
}

}  // namespace

absl::StatusOr<bool> RaiseNormalization(Graph& graph) {
  DelayedTakeOvers raised;
  for (Node* node : graph.TopologicalOrder()) {
    const std::optional<Pattern> pattern = Match(node);
    if (pattern.has_value() && !pattern->last->users().empty()) {
      QB_ASSIGN_OR_RETURN(Node * result, AddReplacement(graph, *pattern));
      raised.Add(graph, pattern->last, result);
    }
  }
  return raised.Finish(graph);
}

}  // namespace qb

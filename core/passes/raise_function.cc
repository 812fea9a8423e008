#include "core/passes/raise_function.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/elementwise_value.h"
#include "core/ops/pointwise.h"
#include "core/passes/channel_values.h"
#include "core/passes/delayed_take_overs.h"
#include "core/passes/fused_activation.h"

namespace qb {
namespace {

constexpr size_t kMostMembers = 16;
constexpr int kMostEvaluations = 64;  // of operators, at one point
constexpr int kPoints = 61;           // on either side of 0
constexpr double kStep = 0.123;

double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double Swish(double x) { return x * Sigmoid(x); }
double Softplus(double x) { return std::log1p(std::exp(x)); }
double Mish(double x) { return x * std::tanh(Softplus(x)); }
double HardSigmoid(double x) { return std::min(std::max(x / 6.0 + 0.5, 0.0), 1.0); }
double HardSwish(double x) { return x * HardSigmoid(x); }
double Gelu(double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }
double TanhGelu(double x) {
  const double inner = std::sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}

std::unique_ptr<Attributes> Plain() { return std::make_unique<NoAttrs>(); }
std::unique_ptr<Attributes> DefaultSigmoid() { return std::make_unique<SigmoidAttrs>(); }
std::unique_ptr<Attributes> ExactGelu() { return std::make_unique<GeluAttrs>(); }
std::unique_ptr<Attributes> ApproximateGelu() {
  auto attrs = std::make_unique<GeluAttrs>();
  attrs->approximate = true;
  return attrs;
}
std::unique_ptr<Attributes> SixthSigmoid() {
  auto attrs = std::make_unique<HardSigmoidAttrs>();
  attrs->alpha = 1.0f / 6.0f;
  return attrs;
}

struct Function {
  OpKind trigger;  // an operator that its spellings have; kClip: also a fused clamp
  double (*value)(double x);
  OpKind op;
  std::unique_ptr<Attributes> (*attributes)();
};

constexpr auto kFunctions = std::to_array<Function>({
    {OpKind::kErf, Gelu, OpKind::kGelu, ExactGelu},
    {OpKind::kTanh, TanhGelu, OpKind::kGelu, ApproximateGelu},
    {OpKind::kTanh, Mish, OpKind::kMish, Plain},
    {OpKind::kTanh, Sigmoid, OpKind::kSigmoid, DefaultSigmoid},
    {OpKind::kExp, Mish, OpKind::kMish, Plain},
    {OpKind::kExp, Sigmoid, OpKind::kSigmoid, DefaultSigmoid},
    {OpKind::kExp, Swish, OpKind::kSwish, Plain},
    {OpKind::kExp, Softplus, OpKind::kSoftplus, Plain},
    {OpKind::kSigmoid, Swish, OpKind::kSwish, Plain},
    {OpKind::kClip, HardSigmoid, OpKind::kHardSigmoid, SixthSigmoid},
    {OpKind::kClip, HardSwish, OpKind::kHardSwish, Plain},
    {OpKind::kHardSigmoid, HardSwish, OpKind::kHardSwish, Plain},
});

bool IsMember(const Node& node) {
  return node.type().dtype == DType::kFloat32 &&
         (IsPointwise(node.op()) || IsElementwise(node.op()));
}

// The operators that `last` is computed by, nearest first, and what they read.
struct Region {
  std::vector<Node*> nodes;  // without constants; the first one is `last`
  std::vector<OpKind> triggers;
};

void AddTrigger(Region& region, Node* node) {
  const Activation* fused = FusedActivationOf(node);
  region.triggers.push_back(fused != nullptr && fused->kind == ActivationKind::kClip ? OpKind::kClip
                                                                                     : node->op());
}

Region RegionOf(Node* last) {
  Region region{{last}, {}};
  for (size_t next = 0; next < region.nodes.size() && next < kMostMembers; ++next) {
    Node* node = region.nodes[next];
    if (!IsMember(*node) || node->shape() != last->shape()) {
      continue;
    }
    AddTrigger(region, node);
    for (Node* operand : node->operands()) {
      const bool known =
          std::find(region.nodes.begin(), region.nodes.end(), operand) != region.nodes.end();
      if (!operand->is_constant() && !known) {
        region.nodes.push_back(operand);
      }
    }
  }
  return region;
}

// `node` as a function of x alone. Empty when it is none, or too large.
std::optional<double> Evaluate(const Node& node, const Node* x, double at, int& budget) {
  if (&node == x) {
    return at;
  }
  if (IsScalarConstant(node)) {
    return static_cast<double>(node.constant().values<float>()[0]);
  }
  if (!IsMember(node) || node.shape() != x->shape() || --budget < 0) {
    return std::nullopt;
  }
  const std::optional<double> a = Evaluate(*node.operand(0), x, at, budget);
  if (!a.has_value() || IsPointwise(node.op())) {
    return a.has_value() ? std::optional(EvaluatePointwise(node, *a)) : std::nullopt;
  }
  const std::optional<double> b = Evaluate(*node.operand(1), x, at, budget);
  return b.has_value() ? std::optional(EvaluateElementwise(node, *a, *b)) : std::nullopt;
}

// Exporters write the constants of these functions as float32 or with seven digits.
bool Equals(const Node& node, const Node* x, const Function& function) {
  for (int i = -kPoints; i <= kPoints; ++i) {
    const double at = kStep * i;
    int budget = kMostEvaluations;
    const std::optional<double> found = Evaluate(node, x, at, budget);
    const double wanted = function.value(at);
    if (!found.has_value() || !(std::abs(*found - wanted) <= 2e-6 * (1.0 + std::abs(wanted)))) {
      return false;
    }
  }
  return true;
}

struct Found {
  const Function* function;
  Node* x;
};

std::optional<Found> Recognize(Node* last) {
  const Region region = RegionOf(last);
  for (const Function& function : kFunctions) {
    if (function.op == last->op() || std::find(region.triggers.begin(), region.triggers.end(),
                                               function.trigger) == region.triggers.end()) {
      continue;
    }
    for (size_t i = 1; i < region.nodes.size(); ++i) {
      Node* x = region.nodes[i];
      if (x->type() == last->type() && Equals(*last, x, function)) {
        return Found{&function, x};
      }
    }
  }
  return std::nullopt;
}

// What the spellings end with.
bool MayEndFunction(const Node& node) {
  switch (node.op()) {
    case OpKind::kMultiply:
    case OpKind::kDiv:
    case OpKind::kPow:
    case OpKind::kAdding:
    case OpKind::kLog:
    case OpKind::kClip:
      return node.type().dtype == DType::kFloat32;
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<bool> RaiseFunction(Graph& graph) {
  DelayedTakeOvers raised;
  for (Node* node : graph.TopologicalOrder()) {
    if (!MayEndFunction(*node) || node->users().empty()) {
      continue;
    }
    const std::optional<Found> found = Recognize(node);
    if (found.has_value()) {
      QB_ASSIGN_OR_RETURN(Node * result, AddOp(graph, found->function->op, node->name(), {found->x},
                                               found->function->attributes()));
      raised.Add(graph, node, result);
    }
  }
  return raised.Finish(graph);
}

}  // namespace qb

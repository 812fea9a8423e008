#include "core/quantization/transformer_roles.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/ops/activation.h"
#include "core/ops/convolution.h"
#include "core/ops/matmul.h"
#include "core/quantization/copied_operand.h"
#include "core/quantization/linear_form.h"

namespace qb {
namespace {

int64_t VaryingOperands(const Node& node) {
  return std::count_if(node.operands().begin(), node.operands().end(),
                       [](const Node* operand) { return !operand->is_constant(); });
}

// Of two varying values.
bool IsVaryingProduct(const Node& node) {
  return node.op() == OpKind::kMatMul && VaryingOperands(node) > 1;
}

bool IsNormalization(const Node& node) {
  return node.op() == OpKind::kLayerNormalization || node.op() == OpKind::kRmsNormalization;
}

// Where the way back from a value ends without a layer with weights.
bool EndsWay(const Node& node) {
  return node.op() == OpKind::kInput || node.op() == OpKind::kSoftmax || IsVaryingProduct(node);
}

bool IsResidualSum(const Node& node) {
  return node.op() == OpKind::kAdding && VaryingOperands(node) == 2;
}

bool HasFusedActivation(const Node& node) {
  if (node.op() == OpKind::kMatMul) {
    return node.attrs<MatMulAttrs>().activation.kind != ActivationKind::kNone;
  }
  return node.op() == OpKind::kConvolution &&
         node.attrs<ConvolutionAttrs>().activation.kind != ActivationKind::kNone;
}

// What lies between a value and the layers with weights that it is computed from.
struct Way {
  std::vector<const Node*> linear;
  std::vector<const Node*> passed;
};

template <typename Stop>
Way WayBack(const Node* value, const Stop& stops) {
  Way way;
  absl::flat_hash_set<const Node*> seen;
  std::vector<const Node*> open = {value};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (node->is_constant() || !seen.insert(node).second) {
      continue;
    }
    if (IsLinear(*node)) {
      way.linear.push_back(node);
      continue;
    }
    if (stops(*node)) {
      continue;
    }
    way.passed.push_back(node);
    open.insert(open.end(), node->operands().begin(), node->operands().end());
  }
  return way;
}

// The one layer with weights that gives a projection; null when there is none or several.
const Node* ProjectionOf(const Node* value) {
  const Way way = WayBack(value, EndsWay);
  return way.linear.size() == 1 ? way.linear.front() : nullptr;
}

class RoleFinder {
 public:
  explicit RoleFinder(const Graph& graph) : graph_(graph), order_(graph.TopologicalOrder()) {}

  std::map<TransformerRole, RoleLayers> Find() {
    for (const Node* node : order_) {
      if (node->op() == OpKind::kSoftmax) {
        FindAttention(node);
      }
    }
    if (linear_.empty()) {
      return {};
    }
    for (const Node* node : order_) {
      if (!node->is_constant() && IsLinear(*node) && !has_role_.contains(node)) {
        FindFeedForward(node);
      }
    }
    FindHead();
    return Collect();
  }

 private:
  void Give(TransformerRole role, const Node* linear) {
    if (linear != nullptr) {
      linear_[role].insert(linear);
      has_role_.insert(linear);
    }
  }

  // The product whose scores a softmax takes, over scaling, masks and changes of shape.
  static const Node* ScoreProduct(const Node* softmax) {
    const Node* found = nullptr;
    int count = 0;
    WayBack(softmax->operand(0), [&](const Node& node) {
      if (IsVaryingProduct(node)) {
        found = &node;
        ++count;
      }
      return EndsWay(node);
    });
    return count == 1 ? found : nullptr;
  }

  void FindAttention(const Node* softmax) {
    const Node* scores = ScoreProduct(softmax);
    const Node* context = OnlyForward(softmax, IsVaryingProduct);
    if (scores == nullptr || context == nullptr) {
      return;
    }
    const Node* query = ProjectionOf(scores->operand(0));
    const Node* key = ProjectionOf(scores->operand(1));
    // The factor that does not come from the softmax.
    const bool is_left = LeadsTo(softmax, context->operand(0));
    const Node* value = ProjectionOf(context->operand(is_left ? 1 : 0));
    if (query == nullptr || key == nullptr || value == nullptr) {
      return;
    }
    Give(TransformerRole::kQuery, query);
    Give(TransformerRole::kKey, key);
    Give(TransformerRole::kValue, value);
    Give(TransformerRole::kOutput,
         OnlyForward(context, [](const Node& node) { return IsLinear(node); }));
  }

  static bool LeadsTo(const Node* from, const Node* value) {
    bool found = false;
    WayBack(value, [&](const Node& node) {
      found = found || &node == from;
      return EndsWay(node);
    });
    return found;
  }

  // The first node behind `node` that is wanted, where every step has one user and one varying
  // operand; null when the way forks before.
  template <typename Wanted>
  static const Node* OnlyForward(const Node* node, const Wanted& wanted) {
    while (node->users().size() == 1) {
      node = node->users().front();
      if (wanted(*node)) {
        return node;
      }
      if (VaryingOperands(*node) != 1 || node->op() == OpKind::kOutput) {
        return nullptr;
      }
    }
    return nullptr;
  }

  void FindFeedForward(const Node* down) {
    const auto stops = [](const Node& node) {
      return EndsWay(node) || IsNormalization(node) || IsResidualSum(node);
    };
    const Way way = WayBack(down->operand(0), stops);
    const bool joins = OnlyForward(down, IsResidualSum) != nullptr;
    if (!joins || way.linear.empty() || way.linear.size() > 2 || !HasActivation(way) ||
        std::any_of(way.linear.begin(), way.linear.end(),
                    [&](const Node* linear) { return has_role_.contains(linear); })) {
      return;
    }
    if (way.linear.size() == 1) {
      GiveWidening(TransformerRole::kFfnUp, way.linear.front(), way.passed);
    } else if (!GiveGated(way)) {
      return;
    }
    Give(TransformerRole::kFfnDown, down);
  }

  // One value in, and no sum or product with a constant.
  static bool IsActivation(const Node& node) {
    const bool is_affine = node.op() == OpKind::kAdding || node.op() == OpKind::kSub ||
                           node.op() == OpKind::kMultiply || node.op() == OpKind::kDiv;
    return CopiedOperand(node) == nullptr && VaryingOperands(node) == 1 && !is_affine;
  }

  static bool HasActivation(const Way& way) {
    return std::any_of(way.passed.begin(), way.passed.end(),
                       [](const Node* node) { return IsActivation(*node); }) ||
           std::any_of(way.linear.begin(), way.linear.end(),
                       [](const Node* node) { return HasFusedActivation(*node); });
  }

  void GiveWidening(TransformerRole role, const Node* linear,
                    const std::vector<const Node*>& between) {
    Give(role, linear);
    between_[role].insert(between.begin(), between.end());
  }

  // Of two layers whose results are multiplied: the gate is the one behind an activation.
  bool GiveGated(const Way& way) {
    const auto product = std::find_if(way.passed.begin(), way.passed.end(), [](const Node* node) {
      return node->op() == OpKind::kMultiply && VaryingOperands(*node) == 2;
    });
    if (product == way.passed.end()) {
      return false;
    }
    Way sides[2] = {WayBack((*product)->operand(0), EndsWay),
                    WayBack((*product)->operand(1), EndsWay)};
    if (sides[0].linear.size() != 1 || sides[1].linear.size() != 1 ||
        sides[0].linear == sides[1].linear) {
      return false;
    }
    const bool is_first = HasActivation(sides[0]);
    if (is_first == HasActivation(sides[1])) {
      return false;
    }
    const Way& gate = sides[is_first ? 0 : 1];
    const Way& up = sides[is_first ? 1 : 0];
    GiveWidening(TransformerRole::kFfnGate, gate.linear.front(), gate.passed);
    GiveWidening(TransformerRole::kFfnUp, up.linear.front(), up.passed);
    between_[TransformerRole::kFfnUp].insert(*product);
    return true;
  }

  void FindHead() {
    for (const Node* output : graph_.outputs()) {
      const Way way = WayBack(output->operand(0), [](const Node& node) {
        return node.op() == OpKind::kInput || IsVaryingProduct(node) || IsResidualSum(node);
      });
      if (way.linear.size() == 1 && !has_role_.contains(way.linear.front())) {
        Give(TransformerRole::kHead, way.linear.front());
      }
    }
  }

  std::vector<const Node*> InOrder(const absl::flat_hash_set<const Node*>& nodes) const {
    std::vector<const Node*> sorted;
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(sorted),
                 [&](const Node* node) { return nodes.contains(node); });
    return sorted;
  }

  std::map<TransformerRole, RoleLayers> Collect() const {
    std::map<TransformerRole, RoleLayers> roles;
    for (const auto& [role, nodes] : linear_) {
      roles[role].linear = InOrder(nodes);
    }
    for (const auto& [role, nodes] : between_) {
      roles[role].between = InOrder(nodes);
    }
    return roles;
  }

  const Graph& graph_;
  const std::vector<Node*> order_;
  std::map<TransformerRole, absl::flat_hash_set<const Node*>> linear_, between_;
  absl::flat_hash_set<const Node*> has_role_;
};

}  // namespace

const char* TransformerRoleName(TransformerRole role) {
  switch (role) {
    case TransformerRole::kQuery:
      return "query";
    case TransformerRole::kKey:
      return "key";
    case TransformerRole::kValue:
      return "value";
    case TransformerRole::kOutput:
      return "output";
    case TransformerRole::kFfnUp:
      return "ffn.up";
    case TransformerRole::kFfnGate:
      return "ffn.gate";
    case TransformerRole::kFfnDown:
      return "ffn.down";
    case TransformerRole::kHead:
      return "head";
    case TransformerRole::kRouter:
      return "router";
  }
  return "";
}

std::map<TransformerRole, RoleLayers> FindTransformerRoles(const Graph& graph) {
  return RoleFinder(graph).Find();
}

}  // namespace qb

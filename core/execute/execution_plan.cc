#include "core/execute/execution_plan.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/execute/arena_planner.h"
#include "core/execute/kernels/all_kernels.h"
#include "core/ops/selection.h"

namespace qb::execute {
namespace {

constexpr int64_t kUntilTheEnd = std::numeric_limits<int64_t>::max() - 1;

// Builds a plan in four passes over the nodes: which are needed, kernels, buffers, steps.
class Planner {
 public:
  Planner(const Graph& graph, const ExecutorOptions& options, const dnnl::engine& engine)
      : graph_(graph), options_(options), engine_(engine) {}

  absl::StatusOr<ExecutionPlan> Run() {
    QB_RETURN_IF_ERROR(FindNeededNodes());
    QB_RETURN_IF_ERROR(MakeKernels());
    FindLastUses();
    AssignPlaces();
    if (plan_.arena_bytes > options_.most_arena_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the activations of '", graph_.name(), "' need ", plan_.arena_bytes,
                       " bytes; at most ", options_.most_arena_bytes, " are allowed"));
    }
    for (const Node* output : graph_.outputs()) {
      AddTrims(*output);
      plan_.outputs.push_back(IndexOf(output));
    }
    return std::move(plan_);
  }

 private:
  static constexpr int64_t kNoBlock = -1;

  size_t IndexOf(const Node* node) const { return index_.at(node); }

  absl::Status FindNeededNodes() {
    std::vector<const Node*> pending(graph_.outputs().begin(), graph_.outputs().end());
    for (const Node* node : options_.observed) {
      if (node->is_constant()) {
        return absl::InvalidArgumentError(
            absl::StrCat("node '", node->name(), "': a constant cannot be observed"));
      }
      pending.push_back(node);
    }
    absl::flat_hash_set<const Node*> needed;
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      if (needed.insert(node).second) {
        pending.insert(pending.end(), node->operands().begin(), node->operands().end());
      }
    }
    for (const Node* node : graph_.TopologicalOrder()) {
      if (needed.contains(node)) {
        index_.emplace(node, plan_.steps.size());
        plan_.steps.push_back({.node = node, .value = plan_.steps.size()});
      }
    }
    return absl::OkStatus();
  }

  absl::Status MakeKernels() {
    const absl::flat_hash_set<const Node*> observed(options_.observed.begin(),
                                                    options_.observed.end());
    for (PlannedStep& step : plan_.steps) {
      step.observed = observed.contains(step.node);
      for (const Node* operand : step.node->operands()) {
        step.operands.push_back(IndexOf(operand));
      }
      if (KernelRowOf(step.node->op()).role != NodeRole::kComputed) {
        continue;
      }
      std::vector<const Tensor*> constants;
      for (const Node* operand : step.node->operands()) {
        constants.push_back(operand->is_constant() ? &operand->constant() : nullptr);
      }
      QB_ASSIGN_OR_RETURN(
          step.kernel, MakeKernel({.node = step.node, .constants = constants, .engine = &engine_}));
      plan_.packed_weight_bytes += step.kernel->packed_weight_bytes();
    }
    return absl::OkStatus();
  }

  void AddTrims(const Node& output) {
    const Node* value = output.operand(0);
    while (value->op() == OpKind::kTrim || value->op() == OpKind::kIdentity) {
      if (value->op() == OpKind::kTrim) {
        plan_.trims.push_back(
            {plan_.outputs.size(), value->attrs<TrimAttrs>().axis, IndexOf(value->operand(1))});
      }
      value = value->operand(0);
    }
  }

  bool IsAlias(size_t value) const {
    return KernelRowOf(plan_.steps[value].node->op()).role == NodeRole::kAlias;
  }

  // The value whose bytes this one is.
  size_t RootOf(size_t value) const {
    while (IsAlias(value)) {
      value = plan_.steps[value].operands[0];
    }
    return value;
  }

  void FindLastUses() {
    last_use_.assign(plan_.steps.size(), 0);
    for (const PlannedStep& step : plan_.steps) {
      last_use_[step.value] = std::max(last_use_[step.value], static_cast<int64_t>(step.value));
      const bool is_output = step.node->op() == OpKind::kOutput;
      for (size_t operand : step.operands) {
        int64_t& last = last_use_[RootOf(operand)];
        last = std::max(last, is_output ? kUntilTheEnd : static_cast<int64_t>(step.value));
      }
      if (step.node->op() == OpKind::kTrim) {  // outputs are cut after the last step
        last_use_[RootOf(step.operands[1])] = kUntilTheEnd;
      }
    }
  }

  // The block of an operand that dies in this step and that the result may take over.
  int64_t SharedBlock(const PlannedStep& step, const std::vector<int64_t>& block_of) const {
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const size_t root = RootOf(step.operands[i]);
      const int64_t block = block_of[root];
      if (block != kNoBlock && step.kernel->MayShareBuffer(static_cast<int64_t>(i)) &&
          plan_.steps[step.operands[i]].node->type() == step.node->type() &&
          blocks_[static_cast<size_t>(block)].last_step == static_cast<int64_t>(step.value)) {
        return block;
      }
    }
    return kNoBlock;
  }

  void AssignPlaces() {
    plan_.places.resize(plan_.steps.size());
    std::vector<int64_t> block_of(plan_.steps.size(), kNoBlock);
    std::vector<int64_t> scratch_of(plan_.steps.size(), kNoBlock);
    for (const PlannedStep& step : plan_.steps) {
      if (step.kernel == nullptr) {
        continue;
      }
      const int64_t now = static_cast<int64_t>(step.value);
      const int64_t shared = SharedBlock(step, block_of);
      if (shared != kNoBlock) {
        block_of[step.value] = shared;
        blocks_[static_cast<size_t>(shared)].last_step = last_use_[step.value];
      } else {
        block_of[step.value] =
            AddBlock({step.node->type().size_bytes(), now, last_use_[step.value]});
      }
      if (step.kernel->scratch_bytes() > 0) {
        scratch_of[step.value] = AddBlock({step.kernel->scratch_bytes(), now, now});
      }
    }
    MoveOutputsOutOfTheArena(block_of);
    plan_.arena_bytes = PlanArena(absl::MakeSpan(blocks_));
    plan_.largest_live_bytes = LargestLiveBytes(blocks_);
    for (PlannedStep& step : plan_.steps) {
      plan_.places[step.value] = PlaceOf(step.value, block_of);
      if (scratch_of[step.value] != kNoBlock) {
        step.scratch_offset = blocks_[static_cast<size_t>(scratch_of[step.value])].offset;
      }
    }
  }

  // An output's tensor outlives the run, so its value is computed there in the first place.
  // (Further outputs of the same value are copies.)
  void MoveOutputsOutOfTheArena(const std::vector<int64_t>& block_of) {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const int64_t block = block_of[RootOf(IndexOf(graph_.outputs()[i]))];
      if (block != kNoBlock && output_of_block_.emplace(block, i).second) {
        blocks_[static_cast<size_t>(block)].bytes = 0;
      }
    }
  }

  int64_t AddBlock(ArenaBlock block) {
    blocks_.push_back(block);
    return static_cast<int64_t>(blocks_.size()) - 1;
  }

  Place PlaceOf(size_t value, const std::vector<int64_t>& block_of) const {
    const size_t root = RootOf(value);
    const Node* node = plan_.steps[root].node;
    Place place;
    switch (KernelRowOf(node->op()).role) {
      case NodeRole::kInput: {
        place.kind = Place::Kind::kInput;
        const auto inputs = graph_.inputs();
        place.index =
            static_cast<size_t>(std::find(inputs.begin(), inputs.end(), node) - inputs.begin());
        break;
      }
      case NodeRole::kConstant:
        place.kind = Place::Kind::kConstant;
        place.constant = node->constant().raw();
        break;
      default:
        if (auto output = output_of_block_.find(block_of[root]); output != output_of_block_.end()) {
          place.kind = Place::Kind::kOutput;
          place.index = output->second;
        } else {
          place.offset = blocks_[static_cast<size_t>(block_of[root])].offset;
        }
        break;
    }
    return place;
  }

  const Graph& graph_;
  const ExecutorOptions& options_;
  const dnnl::engine& engine_;
  ExecutionPlan plan_;
  absl::flat_hash_map<const Node*, size_t> index_;
  std::vector<int64_t> last_use_;  // by root value: the last step that reads it
  std::vector<ArenaBlock> blocks_;
  absl::flat_hash_map<int64_t, size_t> output_of_block_;
};

}  // namespace

absl::StatusOr<ExecutionPlan> MakePlan(const Graph& graph, const ExecutorOptions& options,
                                       const dnnl::engine& engine) {
  return Planner(graph, options, engine).Run();
}

}  // namespace qb::execute

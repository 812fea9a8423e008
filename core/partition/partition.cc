#include "core/partition/partition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/ops/op_def.h"
#include "core/partition/part_graph.h"
#include "core/partition/stages.h"
#include "core/partition/work.h"

namespace qb {
namespace {

int64_t BytesOf(const std::vector<const Node*>& values) {
  int64_t bytes = 0;
  for (const Node* value : values) {
    bytes += value->type().size_bytes();
  }
  return bytes;
}

bool IsOperator(const Node& node) {
  return node.op() != OpKind::kInput && node.op() != OpKind::kOutput && !node.is_constant();
}

// What the part takes from outside and gives to it.
void FindBorder(GraphPart& part) {
  const NodeSet inside(part.nodes.begin(), part.nodes.end());
  NodeSet seen;
  for (const Node* node : part.nodes) {
    for (const Node* operand : node->operands()) {
      if (!operand->is_constant() && !inside.contains(operand) && seen.insert(operand).second) {
        part.inputs.push_back(operand);
      }
    }
    const bool needed = std::any_of(node->users().begin(), node->users().end(),
                                    [&](const Node* user) { return !inside.contains(user); });
    if (needed) {
      part.outputs.push_back(node);
    }
  }
}

// The colouring while it is being found.
class Partitioner {
 public:
  Partitioner(const Graph& graph, const TargetSpec& target, const PartitionOptions& options,
              SupportReport& support)
      : graph_(graph), target_(target), options_(options), support_(support) {
    for (const Node* node : graph.TopologicalOrder()) {
      if (IsOperator(*node)) {
        order_.push_back(node);
        total_macs_ += MacsOf(*node);
      }
    }
    for (size_t i = 0; i < support_.nodes.size(); ++i) {
      rows_[support_.nodes[i].node] = i;
      if (support_.nodes[i].npu() && IsOperator(*support_.nodes[i].node)) {
        on_npu_.insert(support_.nodes[i].node);
      }
    }
  }

  absl::StatusOr<Partition> Run() {
    // Each round but the last moves at least one node to the CPU.
    while (true) {
      GiveUpSmallIslands();
      TrimBorders();
      Partition partition = Collect();
      if (partition.npu_parts().empty()) {
        return Failure(FailureCode::kUnsupportedOperator,
                       absl::StrCat("target ", target_.name, " runs no part of '", graph_.name(),
                                    "': nothing is left for the NPU"));
      }
      if (!MoveWhatTheBorderBreaks(partition)) {
        QB_RETURN_IF_ERROR(CheckCpuIslands(partition));
        return partition;
      }
    }
  }

 private:
  void ToCpu(const Node* node, std::string reason) {
    on_npu_.erase(node);
    support_.nodes[rows_.at(node)].reasons.push_back(std::move(reason));
  }

  // The one with the most products, of equal ones that with the most nodes; null without islands.
  static const Island* LargestOf(const std::vector<Island>& islands) {
    const Island* largest = nullptr;
    for (const Island& island : islands) {
      const bool larger =
          largest == nullptr || island.macs > largest->macs ||
          (island.macs == largest->macs && island.nodes.size() > largest->nodes.size());
      largest = larger ? &island : largest;
    }
    return largest;
  }

  void GiveUp(const Island& island) {
    const double percent = total_macs_ == 0 ? 0.0
                                            : 100.0 * static_cast<double>(island.macs) /
                                                  static_cast<double>(total_macs_);
    for (const Node* node : island.nodes) {
      ToCpu(node, absl::StrFormat("Part of an island of the NPU that is too small for its "
                                  "transfers; found: %d products, %.3f %% of all",
                                  island.macs, percent));
    }
  }

  // All islands below the threshold but the largest one.
  void GiveUpSmallIslands() {
    const double least = options_.smallest_island_share * static_cast<double>(total_macs_);
    bool changed = true;
    while (changed) {
      changed = false;
      const Stages stages(order_, on_npu_);
      const std::vector<Island> islands = FindIslands(order_, on_npu_, stages);
      const Island* largest = LargestOf(islands);
      for (const Island& island : islands) {
        if (&island != largest && static_cast<double>(island.macs) < least) {
          GiveUp(island);
          changed = true;
        }
      }
    }
  }

  bool IsCpuOperator(const Node* node) const {
    return IsOperator(*node) && !on_npu_.contains(node);
  }

  // Operands on the NPU that nobody on the CPU reads yet: what would have to cross the border.
  int64_t NewTransferBytes(const Node& node) const {
    std::vector<const Node*> crossing;
    for (const Node* operand : node.operands()) {
      const bool crosses_already =
          operand->is_constant() || operand->op() == OpKind::kInput ||
          std::any_of(operand->users().begin(), operand->users().end(), [&](const Node* user) {
            return IsCpuOperator(user) || user->op() == OpKind::kOutput;
          });
      if (!crosses_already &&
          std::find(crossing.begin(), crossing.end(), operand) == crossing.end()) {
        crossing.push_back(operand);
      }
    }
    return BytesOf(crossing);
  }

  // Work without products at a border belongs to the CPU part that it touches where that does not
  // enlarge the transfer: it is cheap there, and exact.
  void TrimBorders() {
    if (total_macs_ == 0) {
      return;
    }
    const std::string reason =
        "Work without products beside a CPU part: computed there, which moves no more bytes";
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
      const bool before_cpu = LeadsToCpuOnly(**node);
      if (on_npu_.contains(*node) && MacsOf(**node) == 0 && before_cpu &&
          NewTransferBytes(**node) <= (*node)->type().size_bytes()) {
        ToCpu(*node, reason);
      }
    }
    for (const Node* node : order_) {
      if (on_npu_.contains(node) && MacsOf(*node) == 0 && FollowsCpuOnly(*node) &&
          node->type().size_bytes() <= OperandBytes(*node)) {
        ToCpu(node, reason);
      }
    }
  }

  // A CPU part reads it, and besides at most the model's outputs, which are on the CPU anyway.
  bool LeadsToCpuOnly(const Node& node) const {
    bool any = false;
    for (const Node* user : node.users()) {
      any = any || IsCpuOperator(user);
      if (!IsCpuOperator(user) && user->op() != OpKind::kOutput) {
        return false;
      }
    }
    return any;
  }

  bool FollowsCpuOnly(const Node& node) const {
    return std::all_of(node.operands().begin(), node.operands().end(), [&](const Node* operand) {
      return operand->is_constant() || IsCpuOperator(operand);
    });
  }

  // Of operands that only `node` needs on the NPU.
  int64_t OperandBytes(const Node& node) const {
    int64_t bytes = 0;
    for (const Node* operand : node.operands()) {
      const bool only_here =
          std::all_of(operand->users().begin(), operand->users().end(),
                      [&](const Node* user) { return user == &node || !on_npu_.contains(user); });
      bytes += operand->is_constant() || !only_here ? 0 : operand->type().size_bytes();
    }
    return bytes;
  }

  // A rule may look past a node (a function of one value is a table): asked again for each NPU part
  // on its own. True when something moved.
  bool MoveWhatTheBorderBreaks(const Partition& partition) {
    bool moved = false;
    for (const GraphPart* part : partition.npu_parts()) {
      const Graph cut = CutOutGraph(graph_, {part->name, part->inputs, part->outputs});
      for (const NodeSupport& row : CheckSupport(cut, target_).nodes) {
        const Node* node = graph_.FindNode(row.node->name());
        if (!row.npu() && node != nullptr && on_npu_.contains(node)) {
          ToCpu(node, absl::StrJoin(row.reasons, ". "));
          moved = true;
        }
      }
    }
    return moved;
  }

  Partition Collect() const {
    const Stages stages(order_, on_npu_);
    std::vector<GraphPart> parts(static_cast<size_t>(stages.last()) + 1);
    for (const Node* node : order_) {
      GraphPart& part = parts[static_cast<size_t>(stages.of(node))];
      part.npu = on_npu_.contains(node);
      part.nodes.push_back(node);
      part.macs += MacsOf(*node);
    }
    Partition partition;
    for (GraphPart& part : parts) {
      if (!part.nodes.empty()) {
        partition.parts.push_back(std::move(part));
      }
    }
    AddConstantOutputs(partition);
    for (GraphPart& part : partition.parts) {
      FindBorder(part);
    }
    NameParts(partition);
    return partition;
  }

  // Outputs that are constants: the last CPU part hands them out.
  void AddConstantOutputs(Partition& partition) const {
    for (const Node* output : graph_.outputs()) {
      if (!output->operand(0)->is_constant()) {
        continue;
      }
      if (partition.parts.empty() || partition.parts.back().npu) {
        partition.parts.emplace_back();
      }
      std::vector<const Node*>& outputs = partition.parts.back().outputs;
      if (std::find(outputs.begin(), outputs.end(), output->operand(0)) == outputs.end()) {
        outputs.push_back(output->operand(0));
      }
    }
  }

  static void NameParts(Partition& partition) {
    const size_t npu_count = partition.npu_parts().size();
    size_t npu_seen = 0;
    for (GraphPart& part : partition.parts) {
      if (part.npu) {
        ++npu_seen;
        part.name = npu_count == 1 ? "npu_body" : absl::StrCat("npu_body_", npu_seen);
      } else if (npu_seen == 0) {
        part.name = "cpu_head";
      } else {
        part.name = npu_seen == npu_count ? "cpu_tail" : absl::StrCat("cpu_island_", npu_seen);
      }
    }
  }

  absl::Status CheckCpuIslands(const Partition& partition) const {
    size_t npu_before = 0;
    const size_t npu_count = partition.npu_parts().size();
    for (const GraphPart& part : partition.parts) {
      npu_before += part.npu ? 1 : 0;
      if (part.npu || npu_before == 0 || npu_before == npu_count) {
        continue;
      }
      const int64_t bytes = part.input_bytes() + part.output_bytes();
      if (bytes > options_.most_island_bytes) {
        return IslandTooLarge(part, bytes);
      }
    }
    return absl::OkStatus();
  }

  absl::Status IslandTooLarge(const GraphPart& part, int64_t bytes) const {
    std::string text =
        absl::StrCat("the NPU part of '", graph_.name(), "' is broken by a CPU island of ",
                     part.nodes.size(), part.nodes.size() == 1 ? " layer" : " layers",
                     " that moves ", bytes, " bytes for each sample; accepted: up to ",
                     options_.most_island_bytes, " (offload.mostIslandBytes)\n  layers:");
    for (const Node* node : part.nodes) {
      const std::vector<std::string>& reasons = support_.nodes[rows_.at(node)].reasons;
      absl::StrAppend(&text, "\n    '", node->name(), "' (", OpDefOf(node->op()).name,
                      "): ", absl::StrJoin(reasons, ". "));
    }
    for (const auto& [way, values] :
         {std::pair("to the CPU", &part.inputs), std::pair("back to the NPU", &part.outputs)}) {
      absl::StrAppend(&text, "\n  ", way, ":");
      for (const Node* value : *values) {
        absl::StrAppend(&text, "\n    '", value->name(), "' ", value->type().ToString(), ", ",
                        value->type().size_bytes(), " bytes");
      }
    }
    return Failure(FailureCode::kUnsupportedOperator, text);
  }

  const Graph& graph_;
  const TargetSpec& target_;
  const PartitionOptions& options_;
  SupportReport& support_;
  std::vector<const Node*> order_;
  absl::flat_hash_map<const Node*, size_t> rows_;
  NodeSet on_npu_;
  int64_t total_macs_ = 0;
};

Json BorderJson(const std::vector<const Node*>& values) {
  Json list = Json::Array();
  for (const Node* value : values) {
    list.Append(Json::Object()
                    .Set("name", value->name())
                    .Set("type", value->type().ToString())
                    .Set("bytes", value->type().size_bytes()));
  }
  return list;
}

}  // namespace

int64_t GraphPart::input_bytes() const { return BytesOf(inputs); }
int64_t GraphPart::output_bytes() const { return BytesOf(outputs); }

bool Partition::needs_cpu() const {
  return std::any_of(parts.begin(), parts.end(), [](const GraphPart& part) { return !part.npu; });
}

std::vector<const GraphPart*> Partition::npu_parts() const {
  std::vector<const GraphPart*> result;
  for (const GraphPart& part : parts) {
    if (part.npu) {
      result.push_back(&part);
    }
  }
  return result;
}

const GraphPart& Partition::body() const {
  const std::vector<const GraphPart*> candidates = npu_parts();
  QB_CHECK(!candidates.empty());
  return **std::max_element(
      candidates.begin(), candidates.end(),
      [](const GraphPart* a, const GraphPart* b) { return a->macs < b->macs; });
}

absl::StatusOr<Partition> PartitionGraph(const Graph& graph, const TargetSpec& target,
                                         const PartitionOptions& options, SupportReport& support) {
  return Partitioner(graph, target, options, support).Run();
}

absl::StatusOr<GraphPart> PartOfLayers(const Graph& graph, const std::vector<std::string>& layers) {
  NodeSet wanted;
  for (const std::string& name : layers) {
    const Node* node = graph.FindNode(name);
    if (node == nullptr || !IsOperator(*node)) {
      return absl::InvalidArgumentError(absl::StrCat("there is no layer '", name, "'"));
    }
    wanted.insert(node);
  }
  if (wanted.empty()) {
    return absl::InvalidArgumentError("a part without layers");
  }
  GraphPart part;
  part.npu = true;
  for (const Node* node : graph.TopologicalOrder()) {
    if (wanted.contains(node)) {
      part.nodes.push_back(node);
      part.macs += MacsOf(*node);
    }
  }
  FindBorder(part);
  return part;
}

std::string PartitionText(const Partition& partition) {
  std::string text = absl::StrFormat("%-16s %-4s %7s %14s %14s %14s\n", "part", "on", "layers",
                                     "products", "bytes in", "bytes out");
  for (const GraphPart& part : partition.parts) {
    absl::StrAppendFormat(&text, "%-16s %-4s %7d %14d %14d %14d\n", part.name,
                          part.npu ? "NPU" : "CPU", part.nodes.size(), part.macs,
                          part.input_bytes(), part.output_bytes());
    for (const Node* value : part.inputs) {
      absl::StrAppend(&text, "    takes ", value->name(), " ", value->type().ToString(), "\n");
    }
    for (const Node* value : part.outputs) {
      absl::StrAppend(&text, "    gives ", value->name(), " ", value->type().ToString(), "\n");
    }
  }
  return text;
}

Json PartitionJson(const Partition& partition) {
  Json list = Json::Array();
  for (const GraphPart& part : partition.parts) {
    Json layers = Json::Array();
    for (const Node* node : part.nodes) {
      layers.Append(Json(node->name()));
    }
    list.Append(Json::Object()
                    .Set("name", part.name)
                    .Set("device", part.npu ? "npu" : "cpu")
                    .Set("macs", part.macs)
                    .Set("inputs", BorderJson(part.inputs))
                    .Set("outputs", BorderJson(part.outputs))
                    .Set("layers", std::move(layers)));
  }
  return list;
}

}  // namespace qb

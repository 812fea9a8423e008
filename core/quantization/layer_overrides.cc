#include "core/quantization/layer_overrides.h"

#include <functional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/ops/op_def.h"
#include "core/quantization/copied_operand.h"
#include "core/quantization/layer_selection.h"
#include "core/quantization/linear_form.h"
#include "core/quantization/mean_window.h"

namespace qb {
namespace {

constexpr size_t kMostProblems = 50;

bool IsGlob(const std::string& pattern) { return pattern.find_first_of("*?") != std::string::npos; }

// One entry of the config: these layers shall have this value.
struct Entry {
  std::string key;  // where it stands
  std::string pattern;
  int64_t value = 0;
};

// Why a layer cannot have the value of an entry; empty when it can.
using Obstacle = std::function<std::string(const Node& node)>;

class Resolver {
 public:
  explicit Resolver(const Graph& graph) {
    for (const Node* node : graph.TopologicalOrder()) {
      if (!node->is_constant() && node->op() != OpKind::kOutput) {
        nodes_.push_back(node);
      }
    }
  }

  // Value by layer, where a layer has one.
  absl::flat_hash_map<const Node*, int64_t> Choose(const std::vector<Entry>& entries,
                                                   const Obstacle& obstacle) {
    CheckEntries(entries, obstacle);
    absl::flat_hash_map<const Node*, int64_t> chosen;
    for (const Node* node : nodes_) {
      const Entry* entry = EntryFor(*node, entries);
      if (entry == nullptr) {
        continue;
      }
      if (const std::string why = obstacle(*node); !why.empty()) {
        notes_[node] = absl::StrCat(entry->key, " has no effect: ", why);
        continue;
      }
      chosen[node] = entry->value;
    }
    return chosen;
  }

  absl::flat_hash_map<const Node*, std::string> TakeNotes() { return std::move(notes_); }
  absl::Status status() const {
    return problems_.empty() ? absl::OkStatus()
                             : Failure(FailureCode::kConfigError, absl::StrJoin(problems_, "\n"));
  }

 private:
  template <typename... Parts>
  void Problem(const Parts&... parts) {
    if (problems_.size() < kMostProblems) {
      problems_.push_back(absl::StrCat(parts...));
    }
  }

  // Each entry must have an effect on some layer, an exact name on its own.
  void CheckEntries(const std::vector<Entry>& entries, const Obstacle& obstacle) {
    for (const Entry& entry : entries) {
      bool matched = false, able = false;
      std::string why;
      for (const Node* node : nodes_) {
        if (!MatchesLayer(entry.pattern, node->name())) {
          continue;
        }
        const std::string of_node = obstacle(*node);
        matched = true;
        able = able || of_node.empty();
        if (why.empty() && !of_node.empty()) {
          why = absl::StrCat("layer '", node->name(), "' (", OpDefOf(node->op()).name,
                             "): ", of_node);
        }
      }
      if (!matched) {
        Problem(entry.key, ": '", entry.pattern, "' matches no layer");
      } else if (!able) {
        Problem(entry.key, ": '", entry.pattern, "' can have no effect: ", why);
      }
    }
  }

  // The exact name if there is one, else the glob; two of a kind must agree.
  const Entry* EntryFor(const Node& node, const std::vector<Entry>& entries) {
    const Entry* found = nullptr;
    for (const Entry& entry : entries) {
      if (!MatchesLayer(entry.pattern, node.name())) {
        continue;
      }
      const bool exact = !IsGlob(entry.pattern);
      const bool found_exact = found != nullptr && !IsGlob(found->pattern);
      if (found == nullptr || (exact && !found_exact)) {
        found = &entry;
      } else if (exact == found_exact && entry.value != found->value) {
        Problem(entry.key, ": layer '", node.name(), "' matches '", entry.pattern, "' here and '",
                found->pattern, "' of ", found->key, "; name the layer itself in one of them");
      }
    }
    return found;
  }

  std::vector<const Node*> nodes_;
  absl::flat_hash_map<const Node*, std::string> notes_;
  std::vector<std::string> problems_;
};

std::vector<Entry> EntriesOf(const std::string& key, const std::vector<std::string>& patterns,
                             int64_t value) {
  std::vector<Entry> entries;
  entries.reserve(patterns.size());
  for (const std::string& pattern : patterns) {
    entries.push_back({key, pattern, value});
  }
  return entries;
}

std::string WhyNoWeights(const Node& node) {
  return IsLinear(node) ? "" : "it has no weights; a convolution or a product with a constant has";
}

// A method decides the codes of a layer's result and whether its operands share them.
std::string WhyNoMethod(const Node& node, const PointwiseClosures& closures) {
  if (CopiedOperand(node) != nullptr) {
    return "its result has the codes of what it moves";
  }
  if (closures.SourceOf(&node) != nullptr && !closures.IsNeededOutside(&node)) {
    return "it lies inside a lookup table and is no value of its own";
  }
  return node.op() == OpKind::kSoftmax ? "a softmax has the scale 1/256" : "";
}

}  // namespace

int LayerSettings::WeightBits(const Node* node) const {
  const auto found = weight_bits.find(node);
  return found == weight_bits.end() ? 8 : found->second;
}

namespace {

// Of a node that is no copy.
std::string WhyNoWideResult(const Node& node, const PointwiseClosures& closures) {
  if (const Node* source = closures.SourceOf(&node); source != nullptr) {
    if (!closures.IsNeededOutside(&node)) {
      return "it lies inside a lookup table and is no value of its own";
    }
    return WhyNarrow(*source, closures).empty()
               ? ""
               : absl::StrCat("it is a lookup table of '", source->name(), "', which has 8 bits");
  }
  switch (node.op()) {
    case OpKind::kInput:
    case OpKind::kConvolution:
    case OpKind::kTransposeConvolution:
    case OpKind::kBatchnorm:
    case OpKind::kMatMul:
    case OpKind::kAdding:
    case OpKind::kSub:
    case OpKind::kMultiply:
    case OpKind::kDiv:
    case OpKind::kConcatenate:
    case OpKind::kSoftmax:
    case OpKind::kLayerNormalization:
    case OpKind::kRmsNormalization:
      return "";
    default:
      return MeanWindowOf(node).has_value() ? "" : "the operator computes 8 bits only";
  }
}

}  // namespace

std::string WhyNarrow(const Node& node, const PointwiseClosures& closures) {
  const Node* at = &node;
  std::string why;
  for (const Node* moved = CopiedOperand(*at); moved != nullptr && !moved->is_constant();
       moved = CopiedOperand(*at)) {
    if (!MovesAnyCodes(*at)) {
      why = "maxima are taken of 8 bits";
      break;
    }
    at = moved;
  }
  if (why.empty()) {
    why = WhyNoWideResult(*at, closures);
  }
  return why.empty() || at == &node ? why : absl::StrCat("it moves '", at->name(), "': ", why);
}

absl::StatusOr<LayerSettings> ResolveLayerOverrides(const Graph& graph,
                                                    const PointwiseClosures& closures,
                                                    const LayerOverrides& overrides) {
  Resolver resolver(graph);
  LayerSettings settings;
  for (const auto& [node, bits] :
       resolver.Choose(EntriesOf("bit.layerOverrides.activation16Bits", overrides.activation16, 16),
                       [&](const Node& node) { return WhyNarrow(node, closures); })) {
    settings.wide.insert(node);
  }
  std::vector<Entry> weights = EntriesOf("bit.layerOverrides.weight16Bits", overrides.weight16, 16);
  for (const auto& [key, patterns, bits] :
       {std::tuple{"bit.layerOverrides.weight8Bits", &overrides.weight8, 8},
        std::tuple{"bit.layerOverrides.weight4Bits", &overrides.weight4, 4}}) {
    for (Entry& entry : EntriesOf(key, *patterns, bits)) {
      weights.push_back(std::move(entry));
    }
  }
  for (const auto& [node, bits] : resolver.Choose(weights, WhyNoWeights)) {
    settings.weight_bits[node] = static_cast<int>(bits);
  }
  std::vector<Entry> methods;
  for (const auto& [pattern, method] : overrides.method) {
    methods.push_back({"calibration.layerOverrides.method", pattern, method});
  }
  for (const auto& [node, method] :
       resolver.Choose(methods, [&](const Node& node) { return WhyNoMethod(node, closures); })) {
    settings.methods[node] = static_cast<QuantizationMethod>(method);
  }
  settings.notes = resolver.TakeNotes();
  QB_RETURN_IF_ERROR(resolver.status());
  return settings;
}

}  // namespace qb

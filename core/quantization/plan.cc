#include "core/quantization/plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/ops/movement.h"
#include "core/ops/op_def.h"
#include "core/quantization/channel_factors.h"
#include "core/quantization/copied_operand.h"
#include "core/quantization/linear_form.h"
#include "core/quantization/masked_scores.h"
#include "core/quantization/scale_groups.h"

namespace qb {
namespace {

constexpr double kLargestFill = 1e30;
// 16-bit codes reach beyond the largest magnitude seen: what they lose is one bit of fifteen, what
// they keep is everything that new data bring.
constexpr double kWideHeadroom = 2.0;

void KeepWithin(double most, GroupMember& member) {
  member.threshold = std::min(member.threshold, most);
  member.wide_threshold = std::min(member.wide_threshold, kWideHeadroom * most);
  member.low = std::max(member.low, -most);
  member.high = std::min(member.high, most);
}

// As the pixels of a 1x1 convolution meet them: the sums are those of channels.
WindowGeometry ChannelsOf(const Shape& shape) {
  const int64_t channels = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  const int64_t rows = shape.elements() / channels;
  return {.rows = rows, .channels = channels, .out_rows = rows};
}

// Operators whose result is rounded from something wider.
bool RoundsSums(OpKind op) {
  switch (op) {
    case OpKind::kConvolution:
    case OpKind::kTransposeConvolution:
    case OpKind::kBatchnorm:
    case OpKind::kMatMul:
    case OpKind::kAdding:
    case OpKind::kSub:
    case OpKind::kMultiply:
    case OpKind::kDiv:
    case OpKind::kLayerNormalization:
    case OpKind::kRmsNormalization:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<QuantizationPlan> QuantizationPlan::Create(const Graph& graph,
                                                          QuantizationMethod method,
                                                          const LayerOverrides& overrides,
                                                          OutputSteps outputs) {
  QuantizationPlan plan;
  plan.outputs_ = outputs;
  plan.graph_ = &graph;
  plan.method_ = method;
  plan.closures_ = std::make_unique<PointwiseClosures>(graph);
  plan.proven_ = ProveRanges(graph);
  QB_ASSIGN_OR_RETURN(plan.settings_, ResolveLayerOverrides(graph, *plan.closures_, overrides));
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->is_constant() || node->op() == OpKind::kOutput) {
      continue;
    }
    if (node->type().dtype != DType::kFloat32) {
      return Failure(FailureCode::kUnsupportedOperator,
                     absl::StrCat("quantization: layer '", node->name(), "' (",
                                  OpDefOf(node->op()).name, ") has ", node->type().ToString(),
                                  "; the NPU part computes float32 models"));
    }
    const bool member = plan.closures_->SourceOf(node) != nullptr;
    if (member && !plan.closures_->IsNeededOutside(node)) {
      continue;
    }
    plan.values_.push_back(node);
    const Node* copied = CopiedOperand(*node);
    plan.scale_sources_[node] =
        copied == nullptr || copied->is_constant() ? node : plan.ScaleSource(copied);
    if (IsLinear(*node)) {
      plan.linear_nodes_.push_back(node);
    }
  }
  plan.ChooseWidths();
  plan.WidenTerms();
  plan.FindOnlyTables();
  for (const Node* value : plan.values_) {
    if (CanHaveChannelFactors(*value, *plan.closures_, plan.wide_) ||
        JoinsChannels(*value, *plan.closures_, plan.wide_)) {
      plan.factored_.push_back(value);
    }
  }
  plan.region_ = OutputRegion({plan.values_, *plan.closures_, plan.wide_, plan.proven_});
  return plan;
}

void QuantizationPlan::ChooseWidths() {
  absl::flat_hash_set<const Node*> sources;
  const auto widen = [&](const Node* value) {
    if (scale_sources_.contains(value) && WhyNarrow(*value, *closures_).empty()) {
      sources.insert(ScaleSource(value));
    }
  };
  const auto widen_source = [&](const Node* node) {
    if (const Node* source = closures_->SourceOf(node); source != nullptr) {
      widen(source);
    }
  };
  for (const Node* node : settings_.wide) {
    widen(node);
    widen_source(node);
    for (const Node* operand : node->operands()) {
      widen(operand);
      widen_source(operand);
    }
  }
  // What moves a 16-bit value keeps its bits.
  for (const Node* value : values_) {
    if (sources.contains(ScaleSource(value)) && WhyNarrow(*value, *closures_).empty()) {
      wide_.insert(value);
    }
  }
}

// What a table is made of, or a term of a sum, needs no codes for its own sake. Where the layer
// that computes it has sums to round anyway, 16 bits leave the one rounding that counts to its
// readers.
void QuantizationPlan::WidenTerms() {
  const auto rounds_itself = [&](const Node* value, const Node* user) {
    return closures_->SourceOf(user) == value ||
           (closures_->SourceOf(user) == nullptr &&
            (user->op() == OpKind::kAdding || user->op() == OpKind::kSub));
  };
  for (const Node* value : values_) {
    const bool only_term =
        !value->users().empty() &&
        std::all_of(value->users().begin(), value->users().end(),
                    [&](const Node* user) { return rounds_itself(value, user); });
    if (only_term && closures_->SourceOf(value) == nullptr && RoundsSums(value->op()) &&
        WhyNarrow(*value, *closures_).empty()) {
      wide_.insert(value);
    }
  }
}

void QuantizationPlan::FindOnlyTables() {
  absl::flat_hash_map<const Node*, int> tables;
  for (const Node* value : values_) {
    if (const Node* source = closures_->SourceOf(value); source != nullptr) {
      ++tables[source];
      only_tables_[source] = value;
    }
  }
  for (const auto& [found, count] : tables) {
    const Node* source = found;
    const bool others =
        std::any_of(source->users().begin(), source->users().end(),
                    [&](const Node* user) { return closures_->SourceOf(user) != source; });
    if (count > 1 || others || !wide_.contains(source)) {
      only_tables_.erase(source);
    }
  }
}

// Whether the operands of this addition, subtraction or concatenation may share a scale.
bool QuantizationPlan::SharesOperands(const Node* node) const {
  // The operands of a closure's sum (x + sigmoid(x)) are no tensors of their own.
  if (closures_->SourceOf(node) != nullptr) {
    return false;
  }
  // 16-bit operands are rescaled exactly enough, and 8-bit ones need not follow them.
  const bool any_wide = std::any_of(node->operands().begin(), node->operands().end(),
                                    [&](const Node* operand) { return wide_.contains(operand); });
  return !any_wide && SharesScales(MethodOf(node));
}

QuantizationMethod QuantizationPlan::MethodOf(const Node* node) const {
  const auto found = settings_.methods.find(node);
  return found == settings_.methods.end() ? method_ : found->second;
}

const Node* QuantizationPlan::ScaleSource(const Node* node) const {
  const auto found = scale_sources_.find(node);
  QB_CHECK_MSG(found != scale_sources_.end(), "node '", node->name(), "' is no planned value");
  return found->second;
}

bool QuantizationPlan::IsCalibrated(const Node* source) const {
  return source->op() != OpKind::kSoftmax;
}

absl::StatusOr<CalibrationRequest> QuantizationPlan::Request(int64_t window_samples) const {
  CalibrationRequest request;
  for (const Node* node : values_) {
    if (ScaleSource(node) == node && IsCalibrated(node)) {
      const bool non_negative = proven_.at(node).is_non_negative();
      const bool two_sided = !non_negative && HasZeroPoints(MethodOf(node));
      request.ranges.push_back({node, non_negative || two_sided ? 255 : 127, two_sided});
    }
  }
  request.channels = factored_;
  request.channels.insert(request.channels.end(), channel_writers().begin(),
                          channel_writers().end());
  request.window_samples = window_samples;
  if (window_samples > 0) {
    for (const Node* node : linear_nodes_) {
      QB_ASSIGN_OR_RETURN(const LinearForm form, LinearFormOf(*node));
      if (form.transposed) {
        continue;  // tap means are those of a sliding window
      }
      if (const Node* table = OnlyTableOf(node); table != nullptr) {
        request.windows.push_back({table, table, ChannelsOf(table->shape())});
      } else {
        request.windows.push_back({node, form.input, form.window});
      }
    }
  }
  return request;
}

GroupMember QuantizationPlan::MemberOf(const Node* node, const CalibrationTable& table) const {
  const Interval& proven = proven_.at(node);
  GroupMember member;
  member.non_negative = proven.is_non_negative();
  if (node == ScaleSource(node) && IsCalibrated(node)) {
    const TensorStatistics& statistics = table.ranges.at(node->id());
    // What a fused bound makes impossible needs no codes.
    member.threshold = std::min<double>(statistics.threshold, proven.largest_magnitude());
    member.largest_seen = statistics.largest_magnitude();
    member.wide_threshold =
        std::min(kWideHeadroom * member.largest_seen, proven.largest_magnitude());
    member.saturation_share = statistics.saturation_share();
    member.two_sided = !member.non_negative && HasZeroPoints(MethodOf(node));
    member.high = member.threshold;
    member.low = member.non_negative ? 0.0 : -member.threshold;
    if (member.two_sided) {
      member.low = std::min(0.0, std::max<double>(statistics.low, proven.low));
      member.high = std::max(0.0, std::min<double>(statistics.high, proven.high));
      member.threshold = std::max(member.high, -member.low);
    }
    const std::optional<double> most =
        MaskedScoresThreshold(*node, table, [this](const Node* operand) -> const Node* {
          return scale_sources_.contains(operand) ? ScaleSource(operand) : nullptr;
        });
    if (most.has_value()) {
      KeepWithin(*most, member);
    }
    if (outputs_ == OutputSteps::kSigmoidRange && region_.logits().contains(node)) {
      KeepWithin(kSigmoidRange, member);
      member.wide_threshold = std::min(member.wide_threshold, kSigmoidRange);
    }
  } else if (node == ScaleSource(node)) {
    member.fixed = true;  // a softmax: 0 .. 255 / 256
    member.threshold = member.high = member.wide_threshold = 1.0;
  } else if (node->op() == OpKind::kPad) {
    // An infinite fill (before a max pooling) saturates like every code at the end of the range.
    const double fill = node->attrs<PadAttrs>().constant;
    if (std::abs(fill) < kLargestFill) {
      member.threshold = member.wide_threshold = std::abs(fill);
      member.low = std::min(0.0, fill);
      member.high = std::max(0.0, fill);
    }
  }
  return member;
}

ValueScales QuantizationPlan::Scales(const CalibrationTable& table) const {
  ScaleGroups groups;
  for (const Node* node : values_) {
    groups.Add(ScaleSource(node), MemberOf(node, table));
  }
  for (const Node* node : values_) {
    if (SharesOperands(node) && !(region_.contains(node) && OutputRegion::Moves(*node)) &&
        !table.channels.contains(node->id())) {
      groups.ShareOperands(*node, [&](const Node* operand) { return ScaleSource(operand); });
    }
  }
  ValueScales scales;
  for (const Node* node : values_) {
    const Node* source = ScaleSource(node);
    if (wide_.contains(node)) {
      scales.held[node] = groups.WideScaleOf(source);
      scales.narrow[node] = groups.ScaleOf(source);
    } else {
      scales.held[node] = groups.ScaleOf(source);
    }
  }
  SetChannelFactors(table, scales);
  SetOutputSteps(region_,
                 {outputs_, [this](const Node* node) { return SharesScales(MethodOf(node)); },
                  [&](const Node* writer) { return MemberOf(writer, table); }},
                 table, scales);
  return scales;
}

void QuantizationPlan::SetChannelFactors(const CalibrationTable& table, ValueScales& scales) const {
  for (const Node* node : factored_) {
    // A table measured for other widths may lack a value that has steps by channel at these.
    const auto extremes = table.channels.find(node->id());
    if (extremes == table.channels.end()) {
      continue;
    }
    ValueScale& scale = scales.held.at(node);
    if (node->op() == OpKind::kConcatenate) {
      scale = JoinedScale(*node, scales.held).value_or(scale);
    } else {
      scale.channel_factors =
          ChooseChannelFactors(*node, {extremes->second, scales.held, settings_});
    }
  }
}

int64_t QuantizationPlan::LargestLiveBytes() const {
  absl::flat_hash_map<const Node*, size_t> last_use;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Node* source = closures_->SourceOf(values_[i]);
    last_use[values_[i]] = i;
    if (source != nullptr) {
      last_use[source] = i;
    }
    for (const Node* operand : values_[i]->operands()) {
      last_use[operand] = i;
    }
  }
  std::vector<int64_t> freed(values_.size(), 0);
  for (const auto& [node, last] : last_use) {
    if (scale_sources_.contains(node)) {
      freed[last] += node->shape().elements() * SizeBytes(dtype(node));
    }
  }
  int64_t live = 0, largest = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    live += values_[i]->shape().elements() * SizeBytes(dtype(values_[i]));
    largest = std::max(largest, live);
    live -= freed[i];
  }
  return largest;
}

}  // namespace qb

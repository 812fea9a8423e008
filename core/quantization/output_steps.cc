#include "core/quantization/output_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/quantization/linear_form.h"
#include "core/quantization/lowering.h"
#include "core/quantization/scale_groups.h"

namespace qb {
namespace {

// A channel that the samples left quiet keeps this part of its layer's range.
constexpr double kLeastShare = 1.0 / 16.0;

// Numbers that are joined to sets.
class Sets {
 public:
  explicit Sets(int count) : parents_(static_cast<size_t>(count)) {
    for (size_t i = 0; i < parents_.size(); ++i) {
      parents_[i] = static_cast<int>(i);
    }
  }
  int Root(int of) {
    while (parents_[static_cast<size_t>(of)] != of) {
      int& parent = parents_[static_cast<size_t>(of)];
      parent = parents_[static_cast<size_t>(parent)];
      of = parent;
    }
    return of;
  }
  // The smaller root stays: the result does not depend on the order.
  void Join(int a, int b) {
    const int first = Root(a), second = Root(b);
    parents_[static_cast<size_t>(std::max(first, second))] = std::min(first, second);
  }

 private:
  std::vector<int> parents_;
};

// What a set of slots has to hold.
struct Need {
  double low = 0.0, high = 0.0;  // low <= 0 <= high
  double largest_seen = 0.0, saturation_share = 0.0;
  bool non_negative = true, two_sided = false;
  // Scale and zero point, while everything in the set comes with the same ones.
  bool any = false, given = true;
  float scale = 0.0f;
  int32_t zero_point = 0;

  void Add(const Need& other) {
    if (!other.any) {
      return;
    }
    given =
        given && other.given && (!any || (scale == other.scale && zero_point == other.zero_point));
    scale = other.scale;
    zero_point = other.zero_point;
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    largest_seen = std::max(largest_seen, other.largest_seen);
    saturation_share = std::max(saturation_share, other.saturation_share);
    non_negative = non_negative && other.non_negative;
    two_sided = two_sided || other.two_sided;
    any = true;
  }
};

Need NeedOf(const GroupMember& member) {
  Need need;
  need.any = true;
  need.given = false;
  need.low = member.two_sided ? member.low : (member.non_negative ? 0.0 : -member.threshold);
  need.high = member.two_sided ? member.high : member.threshold;
  need.largest_seen = member.largest_seen;
  need.saturation_share = member.saturation_share;
  need.non_negative = member.non_negative;
  need.two_sided = member.two_sided;
  return need;
}

Need NeedOf(const ValueScale& held) {
  const double scale = held.scale;
  Need need;
  need.any = true;
  need.low = scale * ((held.zero_point == 0 ? -127 : -128) - held.zero_point);
  need.high = scale * (127 - held.zero_point);
  need.largest_seen = held.largest_seen;
  need.saturation_share = held.saturation_share;
  need.non_negative = held.zero_point == -128;
  need.two_sided = held.zero_point != -128 && held.zero_point != 0;
  need.scale = held.scale;
  need.zero_point = held.zero_point;
  return need;
}

// What one slot's codes are.
struct Step {
  float scale = 1.0f;
  int32_t zero_point = 0;
};

// The step that codes around `zero_point` need, for slots that share it with others.
float StepAround(int32_t zero_point, double low, double high) {
  const double below = zero_point == 0 ? 127.0 : 128.0 + zero_point;
  const double step = std::max(high / (127.0 - zero_point), below > 0.0 ? -low / below : 0.0);
  return step < kSmallestScale ? 1.0f : static_cast<float>(step);
}

class OutputScaling {
 public:
  OutputScaling(const OutputRegion& region, const OutputSettings& settings,
                const CalibrationTable& table, ValueScales& scales)
      : region_(region),
        settings_(settings),
        table_(table),
        scales_(scales),
        steps_(region.slots()),
        zeros_(region.slots()),
        needs_(static_cast<size_t>(region.slots())) {}

  void Run() {
    for (const auto& [a, b] : region_.ties()) {
      Tie(a, b);
    }
    for (const Node* value : region_.values()) {
      if (!OutputRegion::Moves(*value)) {
        AddWriter(*value);
      }
    }
    for (const auto& [place, slot] : region_.outside()) {
      AddOutside(*place.first->operand(place.second), slot);
    }
    if (settings_.steps != OutputSteps::kByChannel) {
      for (const Node* value : region_.values()) {
        if (value->op() == OpKind::kConcatenate && settings_.shares(value)) {
          ShareCloseParts(region_.layout(value));
        }
      }
    }
    ChooseSteps();
    const std::vector<Need> needs = Totals(steps_);
    for (const Node* value : region_.values()) {
      scales_.held[value] = ScaleOf(region_.layout(value), needs);
      scales_.outputs.members.insert(value);
    }
    for (const auto& [place, slot] : region_.outside()) {
      scales_.outputs.outside[place] = ScaleOf({-1, {slot}}, needs);
    }
  }

 private:
  void Tie(int a, int b) {
    steps_.Join(a, b);
    zeros_.Join(a, b);
  }

  void AddWriter(const Node& writer) {
    const OutputRegion::Layout& layout = region_.layout(&writer);
    GroupMember member = settings_.member_of(&writer);
    if (settings_.steps == OutputSteps::kSigmoidRange) {
      if (writer.op() == OpKind::kSigmoid) {
        member.fixed = true;
      } else if (IsLinear(writer)) {
        member.threshold = std::min(member.threshold, kSigmoidRange);
        member.low = std::max(member.low, -kSigmoidRange);
        member.high = std::min(member.high, kSigmoidRange);
      }
    }
    Need need = NeedOf(member);
    if (member.fixed) {
      need = NeedOf(FixedScale());
    }
    const auto extremes = table_.channels.find(writer.id());
    const bool by_channel = settings_.steps == OutputSteps::kByChannel && layout.axis >= 0 &&
                            extremes != table_.channels.end();
    for (size_t i = 0; i < layout.slots.size(); ++i) {
      zeros_.Join(layout.slots[0], layout.slots[i]);  // one zero point a layer
      Need own = need;
      if (by_channel) {
        own.low = std::clamp<double>(extremes->second.min[i], need.low, need.low * kLeastShare);
        own.high = std::clamp<double>(extremes->second.max[i], need.high * kLeastShare, need.high);
      } else {
        steps_.Join(layout.slots[0], layout.slots[i]);
      }
      needs_[static_cast<size_t>(layout.slots[i])].Add(own);
    }
  }

  static ValueScale FixedScale() {
    ValueScale scale;
    scale.scale = 1.0f / 256.0f;
    scale.zero_point = -128;
    return scale;
  }

  void AddOutside(const Node& operand, int slot) {
    ValueScale held;
    if (operand.is_constant()) {
      held = ScaleOfConstant(operand.constant());
    } else if (const auto narrow = scales_.narrow.find(&operand); narrow != scales_.narrow.end()) {
      held = narrow->second;
    } else {
      held = scales_.held.at(&operand);
    }
    needs_[static_cast<size_t>(slot)].Add(NeedOf(held));
  }

  // By root.
  std::vector<Need> Totals(Sets& sets) const {
    std::vector<Need> totals(needs_.size());
    for (size_t slot = 0; slot < needs_.size(); ++slot) {
      totals[static_cast<size_t>(sets.Root(static_cast<int>(slot)))].Add(needs_[slot]);
    }
    return totals;
  }

  static double RangeOf(const Need& need) {
    return need.two_sided ? need.high - need.low : std::max(need.high, -need.low);
  }

  // As ScaleGroups::ShareOperands does inside of the model.
  void ShareCloseParts(const OutputRegion::Layout& layout) {
    double smallest = std::numeric_limits<double>::infinity();
    Need all;
    const std::vector<Need> totals = Totals(steps_);
    const Need& first = totals[static_cast<size_t>(steps_.Root(layout.slots[0]))];
    for (const int slot : layout.slots) {
      const Need& need = totals[static_cast<size_t>(steps_.Root(slot))];
      if (need.given || need.non_negative != first.non_negative ||
          need.two_sided != first.two_sided) {
        return;
      }
      smallest = std::min(smallest, RangeOf(need));
      all.Add(need);
    }
    if (RangeOf(all) < kCloseRatio * smallest) {
      for (const int slot : layout.slots) {
        Tie(layout.slots[0], slot);
      }
    }
  }

  void ChooseSteps() {
    const std::vector<Need> needs = Totals(steps_), commons = Totals(zeros_);
    std::vector<int> sets(needs_.size(), 0);  // of one zero point: how many have steps of their own
    for (int slot = 0; slot < region_.slots(); ++slot) {
      if (steps_.Root(slot) == slot) {
        ++sets[static_cast<size_t>(zeros_.Root(slot))];
      }
    }
    chosen_.resize(needs_.size());
    for (int slot = 0; slot < region_.slots(); ++slot) {
      const size_t root = static_cast<size_t>(steps_.Root(slot));
      const size_t zero = static_cast<size_t>(zeros_.Root(slot));
      if (static_cast<int>(root) == slot) {
        chosen_[root] = StepOf(needs[root], commons[zero], sets[zero] == 1);
      }
    }
  }

  // `common`: everything that has the same zero point; `alone`: it is `need`.
  static Step StepOf(const Need& need, const Need& common, bool alone) {
    if (need.given && alone) {
      return {need.scale, need.zero_point};
    }
    if (common.non_negative || !common.two_sided) {
      const int32_t zero_point = common.non_negative ? -128 : 0;
      return {StepAround(zero_point, need.low, need.high), zero_point};
    }
    ValueScale all;
    SetTwoSided(common.low, common.high, all);
    return {alone ? all.scale : StepAround(all.zero_point, need.low, need.high), all.zero_point};
  }

  const Step& StepOf(int slot) { return chosen_[static_cast<size_t>(steps_.Root(slot))]; }

  ValueScale ScaleOf(const OutputRegion::Layout& layout, const std::vector<Need>& needs) {
    ValueScale value;
    value.scale = 0.0f;
    bool one_step = true, one_zero = true;
    const Step first = StepOf(layout.slots[0]);
    for (const int slot : layout.slots) {
      const Step& step = StepOf(slot);
      const Need& need = needs[static_cast<size_t>(steps_.Root(slot))];
      one_step = one_step && step.scale == first.scale;
      one_zero = one_zero && step.zero_point == first.zero_point;
      value.scale = std::max(value.scale, step.scale);
      value.largest_seen = std::max(value.largest_seen, need.largest_seen);
      value.saturation_share = std::max(value.saturation_share, need.saturation_share);
      value.threshold = std::max({value.threshold, need.high, -need.low});
    }
    value.zero_point = first.zero_point;
    if (one_step && one_zero) {
      return value;
    }
    value.channel_axis = layout.axis;
    for (const int slot : layout.slots) {
      value.channel_factors.push_back(StepOf(slot).scale / value.scale);
      if (!one_zero) {
        value.channel_zero_points.push_back(StepOf(slot).zero_point);
      }
    }
    return value;
  }

  const OutputRegion& region_;
  const OutputSettings& settings_;
  const CalibrationTable& table_;
  ValueScales& scales_;
  Sets steps_;                // slots that have one step
  Sets zeros_;                // slots that have one zero point
  std::vector<Need> needs_;   // by slot
  std::vector<Step> chosen_;  // by root of steps_
};

}  // namespace

void SetOutputSteps(const OutputRegion& region, const OutputSettings& settings,
                    const CalibrationTable& table, ValueScales& scales) {
  OutputScaling(region, settings, table, scales).Run();
}

}  // namespace qb

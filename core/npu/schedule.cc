#include "core/npu/schedule.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/npu/hazards.h"

namespace qb::npu {
namespace {

using integer::Layer;
using integer::Network;

constexpr int64_t kMostWork = 2'000'000'000;

bool Covers(const Clock& clock, const Clock& needed) {
  for (size_t core = 0; core < clock.size(); ++core) {
    if (clock[core] < needed[core]) {
      return false;
    }
  }
  return true;
}

void Join(const Clock& other, Clock& clock) {
  for (size_t core = 0; core < clock.size(); ++core) {
    clock[core] = std::max(clock[core], other[core]);
  }
}

// The memory of a layer's result.
ByteRuns OutputBytes(const Layer& layer, const Network& network,
                     const std::vector<int64_t>& addresses) {
  const size_t output = static_cast<size_t>(layer.output);
  const int64_t bytes = network.tensors[output].size_bytes();
  return {addresses[output], bytes, bytes, 1};
}

// One way to cut a layer.
struct Candidate {
  CutAxis axis = CutAxis::kNone;
  std::vector<ScheduledPart> parts;
  int64_t cycles = 0;  // of the slowest part, with an event
};

int64_t BytesOf(const Network& network, int tensor) {
  return network.tensors[static_cast<size_t>(tensor)].size_bytes();
}

class Scheduler {
 public:
  Scheduler(const Network& network, const TargetSpec& target,
            const std::vector<int64_t>& addresses, int64_t cores)
      : network_(network), target_(target), addresses_(addresses), cores_(cores) {}

  absl::StatusOr<Schedule> Run(const std::vector<bool>& in_place) {
    for (size_t i = 0; i < network_.layers.size(); ++i) {
      const Layer& layer = network_.layers[i];
      QB_ASSIGN_OR_RETURN(Candidate best, Uncut(layer, in_place[i]));
      for (const CutAxis axis : {CutAxis::kRows, CutAxis::kChannels}) {
        const absl::StatusOr<Candidate> cut = Cut(layer, axis, best.cycles);
        if (cut.ok() && cut->cycles < best.cycles) {
          best = *cut;
        }
      }
      AddEvents(static_cast<int>(i), best);
      schedule_.layers.push_back({best.axis, std::move(best.parts)});
    }
    return std::move(schedule_);
  }

 private:
  absl::StatusOr<Candidate> Uncut(const Layer& layer, bool in_place) const {
    Candidate whole;
    QB_ASSIGN_OR_RETURN(const Tiling tiling, ChooseTiling(layer, network_, target_, in_place));
    whole.parts.push_back({0, {0, 1}, {}, 0, tiling});
    whole.cycles = tiling.cost.cycles;
    return whole;
  }

  // Nothing to gain below an event's cost: then it is not looked at.
  absl::StatusOr<Candidate> Cut(const Layer& layer, CutAxis axis, int64_t best_cycles) const {
    const CutPlaces places = PlacesOf(layer, network_, axis);
    const std::vector<PartRange> shares = Shares(places, cores_);
    if (shares.size() < 2 || best_cycles <= target_.event_cycles) {
      return absl::NotFoundError("not cut");
    }
    Candidate cut;
    cut.axis = axis;
    for (size_t i = 0; i < shares.size(); ++i) {
      const PartLayer part = MakePart(layer, network_, axis, shares[i], /*with_weights=*/false);
      QB_ASSIGN_OR_RETURN(Tiling tiling,
                          ChooseTiling(part.layer, part.network, target_, /*in_place=*/false));
      CountShared(layer, part, {shares[i], places.places}, tiling.cost);
      cut.cycles = std::max(cut.cycles, tiling.cost.cycles + target_.event_cycles);
      cut.parts.push_back({static_cast<int>(i), shares[i], {}, 0, tiling});
    }
    return cut;
  }

  struct ShareOf {
    PartRange range;
    int64_t places;
  };
  // Bytes that the part reads besides its share of the operands; the first part's share of what each
  // reads whole is all of it.
  void CountShared(const Layer& layer, const PartLayer& part, const ShareOf& share,
                   Cost& cost) const {
    for (size_t i = 0; i < part.reads.size(); ++i) {
      const int64_t all = BytesOf(network_, layer.inputs[i]);
      const int64_t read = part.reads[i].bytes();
      if (part.reads_whole[i]) {
        cost.gather_bytes += share.range.begin == 0 ? 0 : read;
      } else {
        cost.halo_bytes += std::max<int64_t>(0, read - all * share.range.extent / share.places);
      }
    }
  }

  void AddEvents(int index, Candidate& chosen) {
    const Layer& layer = network_.layers[static_cast<size_t>(index)];
    for (ScheduledPart& part : chosen.parts) {
      const size_t core = static_cast<size_t>(part.core);
      const PartLayer pieces =
          MakePart(layer, network_, chosen.axis, part.range, /*with_weights=*/false);
      part.signal = ++events_;
      Access access;
      access.layer = index;
      access.core = part.core;
      access.done = done_[core] + 1;
      Clock needed{};
      for (const Access& one : AccessesOf(layer, addresses_, pieces, access)) {
        Join(hazards_.Needed(one, nullptr), needed);
        hazards_.Add(one);
      }
      int64_t start = ends_[core];
      for (const auto& [other, count] : Waits(needed, core)) {
        const Event& event = parts_[other][static_cast<size_t>(count - 1)];
        part.waits.push_back(event.number);
        Join(event.clock, clocks_[core]);
        start = std::max(start, event.end + target_.event_cycles);
      }
      ++done_[core];
      clocks_[core][core] = done_[core];
      ends_[core] = start + part.tiling.cost.cycles;
      parts_[core].push_back({part.signal, clocks_[core], ends_[core]});
      schedule_.cost += part.tiling.cost;
    }
    hazards_.EndLayer(OutputBytes(layer, network_, addresses_));
    schedule_.cost.cycles = *std::max_element(ends_.begin(), ends_.end());
  }

  // For each other core the last part to wait for, less those that come with another.
  std::vector<std::pair<size_t, int32_t>> Waits(const Clock& needed, size_t core) const {
    std::vector<std::pair<size_t, int32_t>> waits;
    for (size_t other = 0; other < needed.size(); ++other) {
      if (other != core && needed[other] > clocks_[core][other]) {
        waits.emplace_back(other, needed[other]);
      }
    }
    const auto comes_with_another = [&](const std::pair<size_t, int32_t>& wait) {
      return std::any_of(waits.begin(), waits.end(), [&](const auto& other) {
        return other.first != wait.first &&
               parts_[other.first][static_cast<size_t>(other.second - 1)].clock[wait.first] >=
                   wait.second;
      });
    };
    std::vector<std::pair<size_t, int32_t>> kept;
    std::copy_if(waits.begin(), waits.end(), std::back_inserter(kept),
                 [&](const auto& wait) { return !comes_with_another(wait); });
    return kept;
  }

  // What is known when a part has ended.
  struct Event {
    uint32_t number;
    Clock clock;
    int64_t end;  // cycle
  };

  const Network& network_;
  const TargetSpec& target_;
  const std::vector<int64_t>& addresses_;
  const int64_t cores_;
  Hazards hazards_;
  Clock done_{};                            // parts of each core so far
  std::array<Clock, kMostCores> clocks_{};  // what each core knows
  std::array<int64_t, kMostCores> ends_{};
  std::array<std::vector<Event>, kMostCores> parts_;
  uint32_t events_ = 0;
  Schedule schedule_;
};

// Replays a schedule from outside.
class Checker {
 public:
  Checker(const Network& network, const std::vector<int64_t>& addresses)
      : network_(network), addresses_(addresses) {}

  absl::Status CheckLayer(int index, const ScheduledLayer& scheduled) {
    const Layer& layer = network_.layers[static_cast<size_t>(index)];
    QB_RETURN_IF_ERROR(CheckRanges(layer, scheduled));
    for (const ScheduledPart& part : scheduled.parts) {
      QB_RETURN_IF_ERROR(CheckPart(index, scheduled.axis, part));
    }
    hazards_.EndLayer(OutputBytes(layer, network_, addresses_));
    // Events of this layer can be waited for from the next on.
    for (auto& [event, clock] : new_events_) {
      if (!events_.emplace(event, clock).second) {
        return Bad(layer, absl::StrCat("signals event ", event, ", which is signalled already"));
      }
    }
    new_events_.clear();
    return absl::OkStatus();
  }

 private:
  absl::Status Bad(const Layer& layer, const std::string& what) const {
    return absl::DataLossError(absl::StrCat("program schedule: layer '", layer.name, "' ", what));
  }

  // The parts are the whole of the result, in order, on a core each.
  absl::Status CheckRanges(const Layer& layer, const ScheduledLayer& scheduled) const {
    const CutPlaces places = PlacesOf(layer, network_, scheduled.axis);
    int64_t next = 0;
    std::vector<bool> used(kMostCores, false);
    for (const ScheduledPart& part : scheduled.parts) {
      if (part.core < 0 || part.core >= kMostCores || used[static_cast<size_t>(part.core)]) {
        return Bad(layer, absl::StrCat("has a part on core ", part.core,
                                       "; accepted: one a core, of up to ", kMostCores, " cores"));
      }
      used[static_cast<size_t>(part.core)] = true;
      const PartRange& range = part.range;
      if (range.begin != next || range.extent < 1 || range.extent > places.places - next ||
          range.extent % places.step != 0) {
        return Bad(layer, absl::StrCat("has a part of ", range.extent, " places from ", range.begin,
                                       "; accepted: shares of ", places.places, " in steps of ",
                                       places.step, " that follow each other"));
      }
      next += range.extent;
    }
    if (next != places.places) {
      return Bad(layer, absl::StrCat("has parts for ", next, " of ", places.places, " places"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckPart(int index, CutAxis axis, const ScheduledPart& part) {
    const Layer& layer = network_.layers[static_cast<size_t>(index)];
    Clock& clock = clocks_[static_cast<size_t>(part.core)];
    for (const uint32_t wait : part.waits) {
      const auto found = events_.find(wait);
      if (found == events_.end()) {
        return Bad(layer, absl::StrCat("waits for event ", wait, ", which no layer before it signals"));
      }
      Join(found->second, clock);
    }
    Access access;
    access.layer = index;
    access.core = part.core;
    access.done = clock[static_cast<size_t>(part.core)] + 1;
    const PartLayer pieces = MakePart(layer, network_, axis, part.range, /*with_weights=*/false);
    for (const Access& one : AccessesOf(layer, addresses_, pieces, access)) {
      std::array<int, kMostCores> culprits{};
      const Clock needed = hazards_.Needed(one, &culprits);
      if (!Covers(clock, needed)) {
        return Bad(layer, NotAwaited(part, clock, needed, culprits));
      }
      hazards_.Add(one);
    }
    if (hazards_.work() > kMostWork) {
      return Bad(layer, "makes the program too large to check");
    }
    ++clock[static_cast<size_t>(part.core)];
    new_events_.emplace_back(part.signal, clock);
    return absl::OkStatus();
  }

  std::string NotAwaited(const ScheduledPart& part, const Clock& clock, const Clock& needed,
                         const std::array<int, kMostCores>& culprits) const {
    size_t core = 0;
    while (clock[core] >= needed[core]) {
      ++core;
    }
    return absl::StrCat("does not wait on core ", part.core, " for layer '",
                        network_.layers[static_cast<size_t>(culprits[core])].name, "' on core ",
                        core, ", whose data it reads or overwrites");
  }

  const Network& network_;
  const std::vector<int64_t>& addresses_;
  Hazards hazards_;
  std::array<Clock, kMostCores> clocks_{};
  std::map<uint32_t, Clock> events_;
  std::vector<std::pair<uint32_t, Clock>> new_events_;
};

}  // namespace

absl::StatusOr<Schedule> MakeSchedule(const Network& network, const TargetSpec& target,
                                      const std::vector<int64_t>& addresses,
                                      const std::vector<bool>& in_place, int64_t cores) {
  return Scheduler(network, target, addresses, std::min<int64_t>(cores, kMostCores)).Run(in_place);
}

absl::Status CheckSchedule(const Network& network, const std::vector<int64_t>& addresses,
                           const std::vector<ScheduledLayer>& layers) {
  Checker checker(network, addresses);
  for (size_t i = 0; i < layers.size(); ++i) {
    QB_RETURN_IF_ERROR(checker.CheckLayer(static_cast<int>(i), layers[i]));
  }
  return absl::OkStatus();
}

}  // namespace qb::npu

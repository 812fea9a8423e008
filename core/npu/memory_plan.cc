#include "core/npu/memory_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace qb::npu {
namespace {

constexpr size_t kMostForAllOrders = 8;
constexpr int64_t kSearchWork = 40'000'000;  // looked-at neighbours of one hill-climb
constexpr int64_t kMostSearchSteps = 4000;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool MeetInTime(const Buffer& a, const Buffer& b) { return a.first <= b.last && b.first <= a.last; }

// The same numbers everywhere: xorshift64*.
class Sequence {
 public:
  size_t Below(size_t limit) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<size_t>((state_ * 0x2545F4914F6CDD1DULL >> 33) % limit);
  }

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15ULL;
};

using Order = std::vector<size_t>;

// Places buffers one after the other.
class Placement {
 public:
  explicit Placement(absl::Span<const Buffer> buffers) : neighbours_(buffers.size()) {
    for (const Buffer& buffer : buffers) {
      sizes_.push_back(Aligned(buffer.size_bytes));
    }
    Order by_first(buffers.size());
    std::iota(by_first.begin(), by_first.end(), size_t{0});
    std::stable_sort(by_first.begin(), by_first.end(), [&](size_t a, size_t b) {
      return buffers[a].first < buffers[b].first;
    });
    for (size_t i = 0; i < by_first.size(); ++i) {
      for (size_t j = i + 1;
           j < by_first.size() && buffers[by_first[j]].first <= buffers[by_first[i]].last; ++j) {
        neighbours_[by_first[i]].push_back(by_first[j]);
        neighbours_[by_first[j]].push_back(by_first[i]);
      }
    }
    offsets_.assign(buffers.size(), -1);
  }

  size_t count() const { return sizes_.size(); }
  int64_t size(size_t i) const { return sizes_[i]; }
  const std::vector<size_t>& neighbours(size_t i) const { return neighbours_[i]; }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  int64_t work() const {
    int64_t work = 0;
    for (const std::vector<size_t>& list : neighbours_) {
      work += static_cast<int64_t>(list.size()) + 1;
    }
    return work;
  }

  void Clear() { std::fill(offsets_.begin(), offsets_.end(), -1); }
  void Set(size_t i, int64_t offset) { offsets_[i] = offset; }

  // Where the buffer goes among those already placed: the lowest gap, or the tightest one.
  int64_t Fit(size_t i, bool tightest) {
    int64_t best = -1;
    int64_t best_slack = 0;
    int64_t end = 0;
    CollectTaken(i);
    for (const auto& [start, stop] : taken_) {
      const int64_t slack = start - end - sizes_[i];
      if (slack >= 0 && (best < 0 || slack < best_slack)) {
        best = end;
        best_slack = slack;
        if (!tightest) {
          return best;
        }
      }
      end = std::max(end, stop);
    }
    return best >= 0 ? best : end;
  }

  // The highest place below `capacity`, -1 when there is none.
  int64_t FitFromTop(size_t i, int64_t capacity) {
    CollectTaken(i);
    int64_t best = -1;
    int64_t end = 0;
    for (const auto& [start, stop] : taken_) {
      if (start - end >= sizes_[i]) {
        best = start - sizes_[i];
      }
      end = std::max(end, stop);
    }
    return capacity - end >= sizes_[i] ? capacity - sizes_[i] : best;
  }

  // All buffers in this order. Returns the peak.
  int64_t PlaceAll(const Order& order, bool tightest) {
    Clear();
    int64_t peak = 0;
    for (const size_t i : order) {
      offsets_[i] = Fit(i, tightest);
      peak = std::max(peak, offsets_[i] + sizes_[i]);
    }
    return peak;
  }

 private:
  void CollectTaken(size_t i) {
    taken_.clear();
    for (const size_t n : neighbours_[i]) {
      if (offsets_[n] >= 0) {
        taken_.emplace_back(offsets_[n], offsets_[n] + sizes_[n]);
      }
    }
    std::sort(taken_.begin(), taken_.end());
  }

  std::vector<int64_t> sizes_;
  std::vector<std::vector<size_t>> neighbours_;
  std::vector<int64_t> offsets_;
  std::vector<std::pair<int64_t, int64_t>> taken_;  // kept for its memory
};

class Planner {
 public:
  explicit Planner(absl::Span<const Buffer> buffers) : buffers_(buffers), placement_(buffers) {
    plan_.lower_bound_bytes = MostLiveBytes(buffers);
    plan_.offsets.assign(buffers.size(), 0);
    plan_.peak_bytes = -1;
  }

  MemoryPlan Run() {
    if (buffers_.empty()) {
      plan_.peak_bytes = 0;
      return plan_;
    }
    const std::vector<Order> orders = GreedyOrders();
    for (const Order& order : orders) {
      for (const bool tightest : {false, true}) {
        Offer(placement_.PlaceAll(order, tightest));
        if (IsOptimal()) {
          return plan_;
        }
      }
    }
    TryTwoEnds();
    if (!IsOptimal()) {
      if (buffers_.size() <= kMostForAllOrders) {
        TryAllOrders();
      } else {
        Climb(orders);
      }
    }
    return plan_;
  }

 private:
  bool IsOptimal() const { return plan_.peak_bytes == plan_.lower_bound_bytes; }

  void Offer(int64_t peak) {
    if (plan_.peak_bytes < 0 || peak < plan_.peak_bytes) {
      plan_.peak_bytes = peak;
      plan_.offsets = placement_.offsets();
    }
  }

  int64_t Steps(size_t i) const { return buffers_[i].last - buffers_[i].first + 1; }

  // Orders that are good in practice: by size, by size x time, by time, by start.
  std::vector<Order> GreedyOrders() const {
    Order indices(buffers_.size());
    std::iota(indices.begin(), indices.end(), size_t{0});
    const std::function<double(size_t)> keys[] = {
        [&](size_t i) { return static_cast<double>(placement_.size(i)); },
        [&](size_t i) {
          return static_cast<double>(placement_.size(i)) * static_cast<double>(Steps(i));
        },
        [&](size_t i) { return static_cast<double>(Steps(i)); },
        [&](size_t i) { return -static_cast<double>(buffers_[i].first); },
    };
    std::vector<Order> orders;
    for (const auto& key : keys) {
      Order order = indices;
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return key(a) != key(b) ? key(a) > key(b) : placement_.size(a) > placement_.size(b);
      });
      orders.push_back(std::move(order));
    }
    return orders;
  }

  // In order of time, in turn from the bottom and from the top of a region of the lower bound's size:
  // exact on chains, where one buffer after the other needs the room beside its predecessor.
  void TryTwoEnds() {
    Order order = GreedyOrders().back();
    placement_.Clear();
    bool top = false;
    for (const size_t i : order) {
      const int64_t capacity = plan_.lower_bound_bytes;
      int64_t offset = top ? placement_.FitFromTop(i, capacity) : placement_.Fit(i, false);
      if (offset < 0 || offset + placement_.size(i) > capacity) {
        offset = top ? placement_.Fit(i, false) : placement_.FitFromTop(i, capacity);
      }
      if (offset < 0 || offset + placement_.size(i) > capacity) {
        return;
      }
      placement_.Set(i, offset);
      top = !top;
    }
    Offer(plan_.lower_bound_bytes);
  }

  // Exact: some order with lowest-gap placement gives a best plan (that of rising offsets).
  void TryAllOrders() {
    Order order(buffers_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    do {
      Offer(placement_.PlaceAll(order, false));
    } while (!IsOptimal() && std::next_permutation(order.begin(), order.end()));
  }

  // From the best greedy order, moves a buffer that touches the peak, or one that it meets, to an
  // earlier place, and keeps what is no worse.
  void Climb(const std::vector<Order>& orders) {
    Order order = orders[0];
    int64_t peak = placement_.PlaceAll(order, false);
    for (const Order& other : orders) {
      const int64_t other_peak = placement_.PlaceAll(other, false);
      if (other_peak < peak) {
        peak = other_peak;
        order = other;
      }
    }
    placement_.PlaceAll(order, false);
    Sequence random;
    const int64_t steps = std::min(kMostSearchSteps, kSearchWork / placement_.work() + 20);
    for (int64_t step = 0; step < steps && !IsOptimal(); ++step) {
      Order next = order;
      const size_t moved = Bottleneck(peak, random);
      const size_t from = static_cast<size_t>(std::find(next.begin(), next.end(), moved) - next.begin());
      const size_t to = random.Below(from + 1);
      std::rotate(next.begin() + static_cast<std::ptrdiff_t>(to),
                  next.begin() + static_cast<std::ptrdiff_t>(from),
                  next.begin() + static_cast<std::ptrdiff_t>(from) + 1);
      const int64_t next_peak = placement_.PlaceAll(next, false);
      Offer(next_peak);
      if (next_peak <= peak) {
        peak = next_peak;
        order = std::move(next);
      } else {
        placement_.PlaceAll(order, false);
      }
    }
  }

  size_t Bottleneck(int64_t peak, Sequence& random) const {
    std::vector<size_t> touching;
    for (size_t i = 0; i < placement_.count(); ++i) {
      if (placement_.offsets()[i] + placement_.size(i) == peak) {
        touching.push_back(i);
      }
    }
    if (touching.empty()) {
      return random.Below(placement_.count());
    }
    const size_t chosen = touching[random.Below(touching.size())];
    const std::vector<size_t>& met = placement_.neighbours(chosen);
    return met.empty() || random.Below(2) == 0 ? chosen : met[random.Below(met.size())];
  }

  absl::Span<const Buffer> buffers_;
  Placement placement_;
  MemoryPlan plan_;
};

}  // namespace

MemoryPlan PlanMemory(absl::Span<const Buffer> buffers) { return Planner(buffers).Run(); }

int64_t MostLiveBytes(absl::Span<const Buffer> buffers) {
  std::map<int64_t, int64_t> change;  // by step
  for (const Buffer& buffer : buffers) {
    change[buffer.first] += Aligned(buffer.size_bytes);
    change[buffer.last + 1] -= Aligned(buffer.size_bytes);
  }
  int64_t live = 0;
  int64_t most = 0;
  for (const auto& [step, bytes] : change) {
    live += bytes;
    most = std::max(most, live);
  }
  return most;
}

absl::Status CheckMemoryPlan(absl::Span<const Buffer> buffers, absl::Span<const int64_t> offsets) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (offsets[i] < 0 || offsets[i] % kAlignment != 0) {
      return absl::InternalError(absl::StrCat("memory plan: buffer ", i, " lies at ", offsets[i]));
    }
    for (size_t j = 0; j < i; ++j) {
      if (MeetInTime(buffers[i], buffers[j]) &&
          offsets[i] < offsets[j] + buffers[j].size_bytes &&
          offsets[j] < offsets[i] + buffers[i].size_bytes) {
        return absl::InternalError(
            absl::StrCat("memory plan: buffers ", j, " and ", i, " overlap"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace qb::npu

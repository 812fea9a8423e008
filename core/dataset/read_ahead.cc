#include "core/dataset/read_ahead.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/time/clock.h"

namespace qb {

ReadAhead::ReadAhead(const Dataset& source, int64_t depth)
    : source_(source), depth_(depth), thread_([this] { Read(); }) {}

ReadAhead::~ReadAhead() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    changed_.SignalAll();
  }
  thread_.join();
}

void ReadAhead::Read() {
  mutex_.Lock();
  while (!stopped_) {
    if (next_ >= end_ || static_cast<int64_t>(slots_.size()) >= depth_) {
      changed_.Wait(&mutex_);
      continue;
    }
    const int64_t index = next_++;
    if (!slots_.try_emplace(index).second) {
      continue;  // it is there from before a jump
    }
    mutex_.Unlock();
    absl::StatusOr<std::vector<Tensor>> values = source_.Load(index);
    mutex_.Lock();
    // A jump may have dropped the slot meanwhile.
    if (const auto slot = slots_.find(index); slot != slots_.end()) {
      slot->second.ready = true;
      slot->second.values = std::move(values);
    }
    changed_.SignalAll();
  }
  mutex_.Unlock();
}

void ReadAhead::Aim(int64_t index) const {
  const bool begins = index == 0;
  const bool follows = last_ >= 0 && std::abs(index - last_) <= depth_;
  last_ = index;
  const bool continues = follows && !begins;
  // What is ready and nobody's is dropped once the readers have passed it.
  std::erase_if(slots_, [&](const auto& entry) {
    const Slot& slot = entry.second;
    return slot.ready && !slot.claimed && (!continues || entry.first < index - depth_);
  });
  if (continues) {
    end_ = std::min(size(), std::max(end_, index + 1 + depth_));
    next_ = std::max(next_, index + 1);
  } else {
    next_ = index + 1;
    end_ = begins ? std::min(size(), index + 1 + depth_) : 0;
  }
  changed_.SignalAll();
}

absl::StatusOr<std::vector<Tensor>> ReadAhead::Load(int64_t index) const {
  const absl::Time begun = absl::Now();
  mutex_.Lock();
  const auto found = slots_.find(index);
  const bool mine = found != slots_.end() && !found->second.claimed;
  if (mine) {
    found->second.claimed = true;
  }
  Aim(index);
  if (!mine) {
    mutex_.Unlock();
    absl::StatusOr<std::vector<Tensor>> values = source_.Load(index);
    absl::MutexLock lock(&mutex_);
    waited_ += absl::Now() - begun;
    return values;
  }
  Slot& slot = found->second;  // claimed: neither erased nor moved
  while (!slot.ready) {
    changed_.Wait(&mutex_);
  }
  absl::StatusOr<std::vector<Tensor>> values = std::move(slot.values);
  slots_.erase(index);
  changed_.SignalAll();
  waited_ += absl::Now() - begun;
  mutex_.Unlock();
  return values;
}

absl::Duration ReadAhead::waited() const {
  absl::MutexLock lock(&mutex_);
  return waited_;
}

}  // namespace qb

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
    slots_.try_emplace(index);
    mutex_.Unlock();
    absl::StatusOr<std::vector<Tensor>> values = source_.Load(index);
    mutex_.Lock();
    // A jump may have dropped the slot meanwhile.
    if (const auto slot = slots_.find(index); slot != slots_.end()) {
      slot->second = {true, std::move(values)};
    }
    changed_.SignalAll();
  }
  mutex_.Unlock();
}

void ReadAhead::Aim(int64_t index) const {
  const bool begins = index == 0;
  const bool follows = last_ >= 0 && std::abs(index - last_) <= depth_;
  last_ = index;
  if (!follows || begins) {
    // Somebody may be waiting for a slot that is being read; one that is ready is nobody's.
    std::erase_if(slots_,
                  [&](const auto& slot) { return slot.second.ready && slot.first != index; });
    next_ = index + 1;
    end_ = begins ? std::min(size(), index + 1 + depth_) : 0;
  } else {
    std::erase_if(
        slots_, [&](const auto& slot) { return slot.second.ready && slot.first < index - depth_; });
    end_ = std::min(size(), std::max(end_, index + 1 + depth_));
    next_ = std::max(next_, index + 1);
  }
  changed_.SignalAll();
}

absl::StatusOr<std::vector<Tensor>> ReadAhead::Load(int64_t index) const {
  const absl::Time begun = absl::Now();
  mutex_.Lock();
  const bool read = slots_.contains(index);
  Aim(index);
  if (!read) {
    mutex_.Unlock();
    absl::StatusOr<std::vector<Tensor>> values = source_.Load(index);
    absl::MutexLock lock(&mutex_);
    waited_ += absl::Now() - begun;
    return values;
  }
  while (!slots_[index].ready) {
    changed_.Wait(&mutex_);
  }
  absl::StatusOr<std::vector<Tensor>> values = std::move(slots_[index].values);
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

#include "client/cpp/interruption.h"

#include <utility>

namespace qb::client {

void Interruption::Raise() {
  absl::MutexLock lock(&mutex_);
  ++count_;
  for (const auto& [id, callback] : callbacks_) {
    callback();
  }
}

int Interruption::count() const {
  absl::MutexLock lock(&mutex_);
  return count_;
}

bool Interruption::WaitForCount(int wanted, absl::Duration duration) const {
  const auto reached = [this, wanted]()
                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ >= wanted; };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&reached), duration);
}

Interruption::Callback::Callback(Interruption* interruption, std::function<void()> callback)
    : interruption_(interruption) {
  if (interruption_ == nullptr) {
    return;
  }
  absl::MutexLock lock(&interruption_->mutex_);
  if (interruption_->count_ > 0) {
    callback();
  }
  id_ = interruption_->next_id_++;
  interruption_->callbacks_.emplace(id_, std::move(callback));
}

Interruption::Callback::~Callback() {
  if (interruption_ == nullptr) {
    return;
  }
  absl::MutexLock lock(&interruption_->mutex_);
  interruption_->callbacks_.erase(id_);
}

}  // namespace qb::client

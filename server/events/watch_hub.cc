#include "server/events/watch_hub.h"

#include <utility>
#include <vector>

namespace qb::server {

int64_t WatchHub::Subscribe(int64_t execution, Wake wake) {
  absl::MutexLock lock(&mutex_);
  const int64_t ticket = next_ticket_++;
  subscriptions_.emplace(ticket, Subscription{execution, std::move(wake), clock_.MonotonicMs()});
  by_execution_[execution].insert(ticket);
  return ticket;
}

void WatchHub::Unsubscribe(int64_t ticket) {
  absl::MutexLock lock(&mutex_);
  const auto found = subscriptions_.find(ticket);
  if (found == subscriptions_.end()) {
    return;
  }
  const auto tickets = by_execution_.find(found->second.execution);
  tickets->second.erase(ticket);
  if (tickets->second.empty()) {
    by_execution_.erase(tickets);
  }
  subscriptions_.erase(found);
}

void WatchHub::Notify(absl::Span<const int64_t> executions) {
  std::vector<Wake> wakes;
  {
    absl::MutexLock lock(&mutex_);
    const int64_t now_ms = clock_.MonotonicMs();
    for (int64_t execution : executions) {
      const auto tickets = by_execution_.find(execution);
      if (tickets == by_execution_.end()) {
        continue;
      }
      for (int64_t ticket : tickets->second) {
        Subscription& subscription = subscriptions_.at(ticket);
        subscription.woken_ms = now_ms;
        wakes.push_back(subscription.wake);
      }
    }
  }
  for (const Wake& wake : wakes) {
    wake();
  }
}

void WatchHub::Tick() {
  std::vector<Wake> wakes;
  {
    absl::MutexLock lock(&mutex_);
    const int64_t now_ms = clock_.MonotonicMs();
    for (auto& [ticket, subscription] : subscriptions_) {
      if (closing_ || now_ms - subscription.woken_ms >= idle_ms_) {
        subscription.woken_ms = now_ms;
        wakes.push_back(subscription.wake);
      }
    }
  }
  for (const Wake& wake : wakes) {
    wake();
  }
}

void WatchHub::Close() {
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
  }
  Tick();
}

bool WatchHub::closing() const {
  absl::MutexLock lock(&mutex_);
  return closing_;
}

}  // namespace qb::server

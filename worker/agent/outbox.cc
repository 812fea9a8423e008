#include "worker/agent/outbox.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/check.h"
#include "worker/agent/jsonl.h"

namespace qb::worker {
namespace {

constexpr double kSmallStep = 0.002;
constexpr size_t kMaxEventTextBytes = 1024;

void SetTime(absl::Time time, google::protobuf::Timestamp* timestamp) {
  const int64_t nanos = absl::ToUnixNanos(time);
  timestamp->set_seconds(nanos / 1'000'000'000);
  timestamp->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
}

}  // namespace

Outbox::Outbox() : Outbox(Limits{}) {}

v1::AttemptEvent& Outbox::AddEvent() {
  v1::AttemptEvent& event = events_.emplace_back();
  event.set_seq(next_seq_++);
  SetTime(absl::Now(), event.mutable_time());
  return event;
}

void Outbox::AddPhase(absl::string_view phase) {
  absl::MutexLock lock(&mutex_);
  if (phase_events_ < limits_.phase_events) {
    ++phase_events_;
    AddEvent().mutable_phase()->set_phase(CleanText(phase, kMaxEventTextBytes));
  }
}

void Outbox::AddProgress(const v1::JobProgress& progress) {
  absl::MutexLock lock(&mutex_);
  // A fraction that goes back is the compiler's mistake; watchers never see it.
  const double fraction = std::max(progress.fraction(), last_fraction_);
  if (!events_.empty() && events_.back().has_progress() && events_.back().seq() > peeked_seq_ &&
      events_.back().progress().phase() == progress.phase()) {
    SetTime(absl::Now(), events_.back().mutable_time());
  } else if (progress_events_ < limits_.progress_events ||
             fraction >= last_fraction_ + kSmallStep) {
    ++progress_events_;
    AddEvent();
  } else {
    return;
  }
  *events_.back().mutable_progress() = progress;
  events_.back().mutable_progress()->set_fraction(fraction);
  last_fraction_ = fraction;
}

void Outbox::AddLog(v1::LogSeverity severity, absl::string_view logger, absl::string_view message) {
  absl::MutexLock lock(&mutex_);
  if (log_events_ > limits_.log_events) {
    return;
  }
  ++log_events_;
  v1::LogEvent* log = AddEvent().mutable_log();
  if (log_events_ > limits_.log_events) {
    log->set_severity(v1::LOG_SEVERITY_WARNING);
    log->set_logger("worker");
    log->set_message("further messages are only in the log");
    return;
  }
  log->set_severity(severity);
  log->set_logger(CleanText(logger, 100));
  log->set_message(CleanText(message, kMaxEventTextBytes));
}

void Outbox::AddLogBytes(absl::string_view bytes) {
  absl::MutexLock lock(&mutex_);
  if (log_dropped_ || closed_) {
    return;
  }
  const int64_t room = std::max<int64_t>(limits_.log_head_bytes - log_taken_bytes_, 0);
  const absl::string_view head = bytes.substr(0, static_cast<size_t>(room));
  log_.append(head.data(), head.size());
  log_taken_bytes_ += static_cast<int64_t>(head.size());
  bytes.remove_prefix(head.size());
  tail_.append(bytes.data(), bytes.size());
  const size_t most = static_cast<size_t>(limits_.log_tail_bytes);
  // Erasing in large steps keeps the cost of a byte constant.
  if (tail_.size() > 2 * most) {
    left_out_bytes_ += static_cast<int64_t>(tail_.size() - most);
    tail_.erase(0, tail_.size() - most);
  }
}

void Outbox::Close() {
  absl::MutexLock lock(&mutex_);
  QB_CHECK(!closed_);
  closed_ = true;
  const size_t most = static_cast<size_t>(limits_.log_tail_bytes);
  if (tail_.size() > most) {
    left_out_bytes_ += static_cast<int64_t>(tail_.size() - most);
    tail_.erase(0, tail_.size() - most);
  }
  if (left_out_bytes_ > 0) {
    absl::StrAppend(&log_, "\n[... ", left_out_bytes_,
                    " bytes of the log are left out here ...]\n");
  }
  if (!log_dropped_) {
    log_.append(tail_);
  }
  tail_.clear();
}

std::vector<v1::AttemptEvent> Outbox::PeekEvents(int most) {
  absl::MutexLock lock(&mutex_);
  std::vector<v1::AttemptEvent> batch;
  for (const v1::AttemptEvent& event : events_) {
    if (static_cast<int>(batch.size()) == most) {
      break;
    }
    batch.push_back(event);
    peeked_seq_ = std::max(peeked_seq_, event.seq());
  }
  return batch;
}

void Outbox::ConfirmEvents(int64_t seq) {
  absl::MutexLock lock(&mutex_);
  while (!events_.empty() && events_.front().seq() <= seq) {
    events_.pop_front();
  }
}

std::pair<int64_t, std::string> Outbox::PeekLog(int64_t most_bytes) {
  absl::MutexLock lock(&mutex_);
  return {log_offset_, log_.substr(0, static_cast<size_t>(most_bytes))};
}

void Outbox::ConfirmLog(int64_t committed_bytes) {
  absl::MutexLock lock(&mutex_);
  const int64_t size = static_cast<int64_t>(log_.size());
  const int64_t confirmed = std::clamp<int64_t>(committed_bytes - log_offset_, 0, size);
  log_.erase(0, static_cast<size_t>(confirmed));
  log_offset_ += confirmed;
}

void Outbox::DropLog() {
  absl::MutexLock lock(&mutex_);
  log_dropped_ = true;
  log_.clear();
  tail_.clear();
}

bool Outbox::WaitForWork(absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(this, &Outbox::HasWork), timeout);
}

bool Outbox::WaitUntilClosed(absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&closed_), timeout);
}

bool Outbox::finished() const {
  absl::MutexLock lock(&mutex_);
  return closed_ && events_.empty() && log_.empty();
}

}  // namespace qb::worker

#include "worker/agent/reporter.h"

#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "worker/agent/backoff.h"

namespace qb::worker {
namespace {

constexpr int kMaxEventsPerRequest = 256;
constexpr int64_t kMaxLogBytesPerRequest = int64_t{512} * 1024;

}  // namespace

Reporter::Reporter(WorkerStub& stub, v1::AttemptKey key, Outbox& outbox, StopSignal& stop,
                   absl::Duration interval)
    : stub_(stub),
      key_(std::move(key)),
      outbox_(outbox),
      stop_(stop),
      interval_(interval),
      thread_([this] { Loop(); }) {}

Reporter::~Reporter() { thread_.join(); }

void Reporter::Loop() {
  Backoff backoff = ServerBackoff();
  while (!stop_.abandoned() && !outbox_.finished()) {
    // Wakes now and then to see an attempt that was abandoned.
    if (!outbox_.WaitForWork(absl::Seconds(1))) {
      continue;
    }
    const absl::Status status = SendOnce();
    if (status.ok()) {
      backoff.Reset();
      outbox_.WaitUntilClosed(interval_);
    } else if (IsStaleAttempt(status)) {
      stop_.Request(StopReason::kAbandoned);
    } else {
      stop_.WaitUntilAbandoned(backoff.Next());
    }
  }
}

absl::Status Reporter::SendOnce() {
  QB_RETURN_IF_ERROR(SendEvents());
  return SendLog();
}

absl::Status Reporter::SendEvents() {
  std::vector<v1::AttemptEvent> events = outbox_.PeekEvents(kMaxEventsPerRequest);
  if (events.empty()) {
    return absl::OkStatus();
  }
  const int64_t last_seq = events.back().seq();
  v1::AppendEventsRequest request;
  *request.mutable_key() = key_;
  for (v1::AttemptEvent& event : events) {
    *request.add_events() = std::move(event);
  }
  const absl::StatusOr<v1::AppendEventsResponse> response = stub_.AppendEvents(request);
  if (!response.ok()) {
    if (IsTransient(response.status()) || IsStaleAttempt(response.status())) {
      return response.status();
    }
    // The server will never take these; the outcome matters more than they do.
    outbox_.ConfirmEvents(last_seq);
    return absl::OkStatus();
  }
  outbox_.ConfirmEvents(response->committed_seq());
  if (response->cancel_requested()) {
    stop_.Request(StopReason::kCancelled);
  }
  return absl::OkStatus();
}

absl::Status Reporter::SendLog() {
  auto [offset, bytes] = outbox_.PeekLog(kMaxLogBytesPerRequest);
  if (bytes.empty()) {
    return absl::OkStatus();
  }
  v1::PutLogRequest request;
  *request.mutable_key() = key_;
  request.set_offset(offset);
  request.set_data(std::move(bytes));
  const absl::StatusOr<v1::PutLogResponse> response = stub_.PutLog(request);
  if (!response.ok()) {
    if (IsTransient(response.status()) || IsStaleAttempt(response.status())) {
      return response.status();
    }
    outbox_.DropLog();
    return absl::OkStatus();
  }
  outbox_.ConfirmLog(response->committed_bytes());
  if (response->cancel_requested()) {
    stop_.Request(StopReason::kCancelled);
  }
  return absl::OkStatus();
}

}  // namespace qb::worker

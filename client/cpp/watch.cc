#include "client/cpp/watch.h"

#include <utility>

#include "absl/time/clock.h"

#include "core/base/status_macros.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {
namespace {

bool IsTerminal(const qbc::v1::JobEvent& event) { return event.has_result() || event.has_error(); }

// What one watch has seen so far, over all its streams.
struct Position {
  int64_t seq = 0;
  bool ended = false;
  bool heard = false;  // something came on the present stream
};

// One stream, from where `position` stands.
absl::Status FollowOnce(Connection& connection, const WatchOptions& options, Position& position,
                        absl::FunctionRef<void(const qbc::v1::JobEvent&)> on_event) {
  qbc::v1::WatchJobRequest request;
  request.set_job_id(options.job_id);
  request.set_after_seq(position.seq);
  CallOptions call = connection.StreamOptions();
  call.timeout = options.deadline - absl::Now();
  return connection.stub().WatchJob(request, call, [&](const qbc::v1::WatchJobResponse& response) {
    position.heard = true;
    for (const qbc::v1::JobEvent& event : response.events()) {
      if (event.seq() <= position.seq || position.ended) {
        continue;  // seen before the connection was lost
      }
      position.seq = event.seq();
      position.ended = IsTerminal(event);
      on_event(event);
    }
    return !position.ended;
  });
}

}  // namespace

bool IsTerminalState(qbc::v1::JobState state) {
  return state == qbc::v1::JOB_STATE_SUCCEEDED || state == qbc::v1::JOB_STATE_FAILED ||
         state == qbc::v1::JOB_STATE_CANCELLED || state == qbc::v1::JOB_STATE_EXPIRED;
}

absl::Status WatchToEnd(Connection& connection, const WatchOptions& options,
                        absl::FunctionRef<void(const qbc::v1::JobEvent&)> on_event) {
  RetryPolicy policy = options.retry;
  policy.budget = absl::InfiniteDuration();
  Backoff backoff(policy, connection.interruption(), options.on_lost);
  Position position = {.seq = options.after_seq};
  while (true) {
    position.heard = false;
    absl::Status status = FollowOnce(connection, options, position, on_event);
    if (position.ended) {
      return absl::OkStatus();
    }
    if (absl::Now() >= options.deadline) {
      return absl::DeadlineExceededError("the time to wait is over; the job goes on");
    }
    if (position.heard) {
      backoff.Reset();
    }
    if (status.ok()) {
      // Either the server goes away, or the caller's after_seq is the terminal event already.
      qbc::v1::GetJobRequest request;
      request.set_job_id(options.job_id);
      const absl::StatusOr<qbc::v1::Job> job = connection.GetJob(request);
      if (job.ok() && IsTerminalState(job->state())) {
        return absl::OkStatus();
      }
      status = absl::UnavailableError("the server ended the stream before the job's end");
    }
    QB_RETURN_IF_ERROR(backoff.WaitAfter(status));
  }
}

}  // namespace qb::client

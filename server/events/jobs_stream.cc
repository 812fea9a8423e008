#include "server/events/jobs_stream.h"

#include <utility>

#include "core/base/status_macros.h"

namespace qb::server {

JobsStream::JobsStream(JobStore& store, WatchHub& hub, const Clock& clock, JobQuery query,
                       int64_t after_revision, int64_t idle_ms, WatchHub::Wake wake,
                       std::function<void(pb::Job&)> explain)
    : store_(store),
      hub_(hub),
      clock_(clock),
      query_(std::move(query)),
      idle_ms_(idle_ms),
      explain_(std::move(explain)),
      ticket_(hub.Subscribe(WatchHub::kAllJobs, std::move(wake))),
      revision_(after_revision),
      sent_ms_(clock.MonotonicMs()) {}

JobsStream::~JobsStream() { hub_.Unsubscribe(ticket_); }

absl::StatusOr<StreamStep> JobsStream::Next(qbc::v1::WatchJobsResponse& frame) {
  frame.clear_jobs();
  QB_ASSIGN_OR_RETURN(ChangedJobs changed, store_.ReadChangedJobs(query_, revision_));
  const int64_t now_ms = clock_.MonotonicMs();
  if (changed.jobs.empty()) {
    if (hub_.closing()) {
      return absl::UnavailableError(
          "the server is shutting down: watch again after the last revision you have");
    }
    if (now_ms - sent_ms_ < idle_ms_) {
      return StreamStep::kWait;
    }
  }
  revision_ = changed.revision;
  for (pb::Job& job : changed.jobs) {
    explain_(job);
    *frame.add_jobs() = std::move(job);
  }
  frame.set_revision(revision_);
  sent_ms_ = now_ms;
  return StreamStep::kSend;
}

}  // namespace qb::server

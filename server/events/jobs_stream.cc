#include "server/events/jobs_stream.h"

#include <utility>

#include "core/base/status_macros.h"
#include "server/runtime/draining.h"

namespace qb::server {

JobsStream::JobsStream(JobStore& store, WatchHub& hub, const Clock& clock, JobsWatch watch,
                       WatchHub::Wake wake)
    : store_(store),
      hub_(hub),
      clock_(clock),
      watch_(std::move(watch)),
      ticket_(hub.Subscribe(WatchHub::kAllJobs, std::move(wake))),
      revision_(watch_.after_revision),
      sent_ms_(clock.MonotonicMs()) {}

JobsStream::~JobsStream() { hub_.Unsubscribe(ticket_); }

absl::StatusOr<StreamStep> JobsStream::Next(qbc::v1::WatchJobsResponse& frame) {
  frame.clear_jobs();
  QB_ASSIGN_OR_RETURN(ChangedJobs changed, store_.ReadChangedJobs(watch_.query, revision_));
  const int64_t now_ms = clock_.MonotonicMs();
  if (changed.jobs.empty()) {
    if (hub_.closing()) {
      return ServerDraining("watch again after the last revision you have");
    }
    if (now_ms - sent_ms_ < watch_.idle_ms) {
      return StreamStep::kWait;
    }
  }
  revision_ = changed.revision;
  for (pb::Job& job : changed.jobs) {
    watch_.explain(job);
    *frame.add_jobs() = std::move(job);
  }
  frame.set_revision(revision_);
  sent_ms_ = now_ms;
  return StreamStep::kSend;
}

}  // namespace qb::server

// What one WatchJobs call sends: a cursor over the changes of a tenant's jobs.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

#include "proto/qbc/v1/job_service.pb.h"
#include "server/events/watch_hub.h"
#include "server/jobs/job_store.h"
#include "server/runtime/clock.h"
#include "server/runtime/frame_source.h"

namespace qb::server {

// What is watched and how.
struct JobsWatch {
  JobQuery query;  // without states; its limit is the size of a frame
  int64_t after_revision = 0;
  // Longest silence: then an empty frame goes out.
  int64_t idle_ms = 15'000;
  std::function<void(pb::Job&)> explain;  // may add to each job
};

// One thread at a time. Holds at most one frame; what a slow reader missed is read from the store
// as it is then. Subscribed to the hub while it lives.
class JobsStream final : public FrameSource<qbc::v1::WatchJobsResponse> {
 public:
  JobsStream(JobStore& store, WatchHub& hub, const Clock& clock, JobsWatch watch,
             WatchHub::Wake wake);
  ~JobsStream() override;

  // Errors: those of the store; Unavailable when the server ends.
  absl::StatusOr<StreamStep> Next(qbc::v1::WatchJobsResponse& frame) override;

 private:
  JobStore& store_;
  WatchHub& hub_;
  const Clock& clock_;
  const JobsWatch watch_;
  const int64_t ticket_;
  int64_t revision_;
  int64_t sent_ms_;
};

}  // namespace qb::server

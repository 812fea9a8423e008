// What one WatchJob call sends: a cursor over a job's stored events.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "proto/qbc/v1/job_service.pb.h"
#include "server/events/watch_hub.h"
#include "server/jobs/job_store.h"
#include "server/runtime/clock.h"
#include "server/runtime/frame_source.h"

namespace qb::server {

struct WatchLimits {
  int max_events_per_frame = 128;
  int64_t max_frame_bytes = int64_t{32} << 10;
  // A compact stream looks at this many times as many events at once, most of which it leaves out.
  int compact_factor = 16;
  // Longest silence: then an empty frame goes out.
  int64_t idle_ms = 15'000;
};

// What a stream works with; all of them outlive it.
struct WatchParts {
  JobStore& store;
  const WatchHub& hub;
  const Clock& clock;
};

// One thread at a time. Holds at most one frame.
class WatchStream final : public FrameSource<qbc::v1::WatchJobResponse> {
 public:
  // `position` is of the job when the call came. `compact`: of the progress events that are there
  // at the same time only the last is sent.
  WatchStream(const WatchParts& parts, WatchLimits limits, const JobPosition& position,
              int64_t after_seq, bool compact = false);

  // Errors: those of the store; Unavailable when the server ends (the client watches again with the
  // last seq it has).
  absl::StatusOr<StreamStep> Next(qbc::v1::WatchJobResponse& frame) override;

 private:
  JobStore& store_;
  const WatchHub& hub_;
  const Clock& clock_;
  const WatchLimits limits_;
  const int64_t job_;
  const bool compact_;
  int64_t after_seq_;
  int64_t sent_ms_;
  bool ended_;  // the terminal event has been sent, now or to an earlier call
};

}  // namespace qb::server

#include "server/events/watch_stream.h"

#include <utility>
#include <vector>

#include "core/base/status_macros.h"

namespace qb::server {

WatchStream::WatchStream(const WatchParts& parts, WatchLimits limits, const JobPosition& position,
                         int64_t after_seq)
    : store_(parts.store),
      hub_(parts.hub),
      clock_(parts.clock),
      limits_(limits),
      execution_(position.execution),
      after_seq_(after_seq),
      sent_ms_(parts.clock.MonotonicMs()),
      ended_(IsTerminal(position.state) && after_seq >= position.last_event_seq) {}

absl::StatusOr<StreamStep> WatchStream::Next(qbc::v1::WatchJobResponse& frame) {
  frame.clear_events();
  if (ended_) {
    return StreamStep::kEnd;
  }
  QB_ASSIGN_OR_RETURN(std::vector<pb::JobEvent> events,
                      store_.ReadEvents(execution_, after_seq_, limits_.max_events_per_frame,
                                        limits_.max_frame_bytes));
  const int64_t now_ms = clock_.MonotonicMs();
  if (events.empty()) {
    if (hub_.closing()) {
      return absl::UnavailableError(
          "the server is shutting down: watch again after the last seq you have");
    }
    if (now_ms - sent_ms_ < limits_.idle_ms) {
      return StreamStep::kWait;
    }
  }
  for (pb::JobEvent& event : events) {
    after_seq_ = event.seq();
    ended_ = ended_ || event.has_result() || event.has_error();
    *frame.add_events() = std::move(event);
  }
  sent_ms_ = now_ms;
  return StreamStep::kSend;
}

}  // namespace qb::server

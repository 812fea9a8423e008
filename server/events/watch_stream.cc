#include "server/events/watch_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "server/runtime/draining.h"

namespace qb::server {

WatchStream::WatchStream(const WatchParts& parts, WatchLimits limits, const JobPosition& position,
                         int64_t after_seq, bool compact)
    : store_(parts.store),
      hub_(parts.hub),
      clock_(parts.clock),
      limits_(limits),
      job_(position.job),
      compact_(compact),
      after_seq_(after_seq),
      sent_ms_(parts.clock.MonotonicMs()),
      ended_(IsTerminal(position.state) && after_seq >= position.last_event_seq) {}

namespace {

// Removes all progress events but the last.
void KeepLastProgress(std::vector<pb::JobEvent>& events) {
  const auto last = std::find_if(events.rbegin(), events.rend(),
                                 [](const pb::JobEvent& event) { return event.has_progress(); });
  if (last == events.rend()) {
    return;
  }
  const int64_t seq = last->seq();
  events.erase(std::remove_if(events.begin(), events.end(),
                              [seq](const pb::JobEvent& event) {
                                return event.has_progress() && event.seq() != seq;
                              }),
               events.end());
}

}  // namespace

absl::StatusOr<StreamStep> WatchStream::Next(qbc::v1::WatchJobResponse& frame) {
  frame.clear_events();
  if (ended_) {
    return StreamStep::kEnd;
  }
  QB_ASSIGN_OR_RETURN(
      std::vector<pb::JobEvent> events,
      store_.ReadEvents(job_, after_seq_,
                        limits_.max_events_per_frame * (compact_ ? limits_.compact_factor : 1),
                        limits_.max_frame_bytes));
  const int64_t now_ms = clock_.MonotonicMs();
  if (events.empty()) {
    if (hub_.closing()) {
      return ServerDraining("watch again after the last seq you have");
    }
    if (now_ms - sent_ms_ < limits_.idle_ms) {
      return StreamStep::kWait;
    }
  }
  if (compact_) {
    KeepLastProgress(events);
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

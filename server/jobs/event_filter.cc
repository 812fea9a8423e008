#include "server/jobs/event_filter.h"

namespace qb::server {
namespace {

using qbc::v1::AttemptEvent;

bool KeepsProgress(const AttemptEvent& event, int64_t now_ms, const EventLimits& limits,
                   const EventTally& tally) {
  if (tally.stored >= limits.max_events_per_attempt) {
    return false;
  }
  // A wall clock that went back must not silence an attempt: the difference is negative then.
  const int64_t since_ms = now_ms - tally.last_progress_ms;
  return event.progress().fraction() >= 1.0 || tally.last_progress_ms == 0 || since_ms < 0 ||
         since_ms >= limits.min_progress_interval_ms;
}

}  // namespace

std::vector<size_t> SelectEvents(absl::Span<const AttemptEvent> events, int64_t now_ms,
                                 const EventLimits& limits, EventTally& tally) {
  std::vector<size_t> selected;
  for (size_t i = 0; i < events.size(); ++i) {
    const AttemptEvent& event = events[i];
    bool keep = false;
    switch (event.kind_case()) {
      case AttemptEvent::kProgress: {
        const bool superseded = i + 1 < events.size() && events[i + 1].has_progress();
        keep = !superseded && KeepsProgress(event, now_ms, limits, tally);
        if (keep) {
          tally.last_progress_ms = now_ms;
        }
        break;
      }
      case AttemptEvent::kLog:
        keep = tally.stored < limits.max_events_per_attempt;
        break;
      case AttemptEvent::kPhase:
        keep = tally.stored < 2 * limits.max_events_per_attempt;
        break;
      case AttemptEvent::KIND_NOT_SET:
        break;
    }
    if (keep) {
      ++tally.stored;
      selected.push_back(i);
    }
  }
  return selected;
}

}  // namespace qb::server

#include "server/jobs/attempt_events.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

#include "server/jobs/job_failure.h"

namespace qb::server {
namespace {

namespace pb = ::qbc::v1;

constexpr size_t kMaxLogMessageBytes = 1024;
constexpr size_t kMaxNameBytes = 256;

std::string Cut(absl::string_view text, size_t max_bytes) {
  return std::string(CutUtf8(text, max_bytes));
}

}  // namespace

void FollowProgress(const qbc::v1::AttemptEvent& event, qbc::v1::JobProgress& progress) {
  if (event.has_phase()) {
    progress.set_phase(Cut(event.phase().phase(), kMaxNameBytes));
    progress.clear_done();
    progress.clear_total();
    progress.clear_unit();
  }
  if (event.has_progress()) {
    const qbc::v1::JobProgress& told = event.progress();
    if (!told.phase().empty()) {
      progress.set_phase(Cut(told.phase(), kMaxNameBytes));
    }
    const double fraction = std::isfinite(told.fraction()) ? told.fraction() : 0.0;
    progress.set_fraction(std::clamp(fraction, progress.fraction(), 1.0));
    progress.set_done(std::max<int64_t>(0, told.done()));
    progress.set_total(std::max<int64_t>(0, told.total()));
    progress.set_unit(Cut(told.unit(), kMaxNameBytes));
  }
}

qbc::v1::JobEvent ToJobEvent(const qbc::v1::AttemptEvent& event,
                             const qbc::v1::JobProgress& progress) {
  qbc::v1::JobEvent result;
  switch (event.kind_case()) {
    case qbc::v1::AttemptEvent::kPhase:
      result.mutable_phase()->set_phase(progress.phase());
      break;
    case qbc::v1::AttemptEvent::kProgress:
      *result.mutable_progress() = progress;
      break;
    case qbc::v1::AttemptEvent::kLog:
      result.mutable_log()->set_severity(event.log().severity());
      result.mutable_log()->set_logger(Cut(event.log().logger(), kMaxNameBytes));
      result.mutable_log()->set_message(Cut(event.log().message(), kMaxLogMessageBytes));
      break;
    case qbc::v1::AttemptEvent::KIND_NOT_SET:
      break;
  }
  return result;
}

absl::StatusOr<absl::Span<const qbc::v1::AttemptEvent>> NewOnes(
    absl::Span<const qbc::v1::AttemptEvent> events, int64_t committed_seq) {
  size_t first = 0;
  while (first < events.size() && events[first].seq() <= committed_seq) {
    ++first;
  }
  for (size_t i = first; i < events.size(); ++i) {
    const int64_t expected = committed_seq + 1 + static_cast<int64_t>(i - first);
    if (events[i].seq() != expected) {
      return absl::OutOfRangeError(absl::StrCat("events: seq ", events[i].seq(),
                                                " follows, expected ", expected, "; stored up to ",
                                                committed_seq));
    }
  }
  return events.subspan(first);
}

}  // namespace qb::server

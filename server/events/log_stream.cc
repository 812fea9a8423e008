#include "server/events/log_stream.h"

#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"
#include "server/runtime/draining.h"

namespace qb::server {
namespace {

constexpr int64_t kPieceBytes = int64_t{256} << 10;

}  // namespace

LogStream::LogStream(JobStore& store, AttemptLogs& logs, WatchHub& hub, LogRange range,
                     WatchHub::Wake wake)
    : store_(store),
      logs_(logs),
      hub_(hub),
      range_(std::move(range)),
      ticket_(hub.Subscribe(range_.execution, std::move(wake))) {
  if (range_.offset < 0) {
    range_.offset =
        std::max<int64_t>(0, logs_.SizeBytes(range_.execution, range_.attempt) + range_.offset);
  }
}

LogStream::~LogStream() { hub_.Unsubscribe(ticket_); }

absl::StatusOr<bool> LogStream::IsOver() {
  if (!range_.follow) {
    return true;
  }
  QB_ASSIGN_OR_RETURN(const JobPosition position, store_.FindJob(range_.tenant, range_.job_id));
  return IsTerminal(position.state) || IsWaiting(position.state) ||
         position.attempt_count != range_.attempt;
}

absl::StatusOr<StreamStep> LogStream::Next(qbc::v1::ReadLogResponse& frame) {
  // Asked before the read: what an attempt wrote before it was over is read below.
  QB_ASSIGN_OR_RETURN(const bool over, IsOver());
  QB_ASSIGN_OR_RETURN(LogPiece piece, logs_.Read(range_.execution, range_.attempt, range_.offset,
                                                 std::min(range_.limit, kPieceBytes)));
  if (piece.data.empty()) {
    if (over || range_.limit == 0) {
      return StreamStep::kEnd;
    }
    if (hub_.closing()) {
      return ServerDraining("read on from the offset that you have");
    }
    return StreamStep::kWait;
  }
  range_.offset = piece.offset + static_cast<int64_t>(piece.data.size());
  range_.limit -= static_cast<int64_t>(piece.data.size());
  frame.set_offset(piece.offset);
  frame.set_attempt(range_.attempt);
  frame.set_data(std::move(piece.data));
  return StreamStep::kSend;
}

}  // namespace qb::server

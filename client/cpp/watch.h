// Following a job to its end, over lost connections and server restarts.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

#include "client/cpp/connection.h"
#include "proto/qbc/v1/event.pb.h"

namespace qb::client {

// A state that a job never leaves.
bool IsTerminalState(qbc::v1::JobState state);

struct WatchOptions {
  std::string job_id;
  int64_t after_seq = 0;
  absl::Time deadline = absl::InfiniteFuture();
  // Between tries after a lost connection; its budget is not used: the deadline ends the watch.
  RetryPolicy retry;
  RetryListener on_lost;
};

// Calls `on_event` for every event once, in order, and returns OK after the terminal one (at once
// when `after_seq` is that one already). A lost connection is taken up again after the last event
// that was seen, as often as needed.
//
// Errors: DeadlineExceeded when the deadline passes first (the job goes on), Cancelled on
// interruption, NotFound and whatever else the server refuses with.
absl::Status WatchToEnd(Connection& connection, const WatchOptions& options,
                        absl::FunctionRef<void(const qbc::v1::JobEvent&)> on_event);

}  // namespace qb::client

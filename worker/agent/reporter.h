// Carries an attempt's events and log bytes to the server while the attempt runs.
#pragma once

#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "proto/qbc/v1/worker_service.pb.h"
#include "worker/agent/outbox.h"
#include "worker/agent/stop_signal.h"
#include "worker/agent/worker_stub.h"

namespace qb::worker {

// Starts its own thread. While the server is away it tries again for ever; a stale attempt is
// abandoned and a cancel that an answer tells is passed to the stop signal.
class Reporter {
 public:
  // Everything must live longer than the reporter. At most one request of a kind each `interval`.
  Reporter(WorkerStub& stub, v1::AttemptKey key, Outbox& outbox, StopSignal& stop,
           absl::Duration interval);
  // Joins: returns once the outbox is finished (closed and all confirmed) or the attempt is
  // abandoned.
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

 private:
  void Loop();
  // One round over what is pending. OK when the server took it (or never will).
  absl::Status SendOnce();
  absl::Status SendEvents();
  absl::Status SendLog();

  WorkerStub& stub_;
  const v1::AttemptKey key_;
  Outbox& outbox_;
  StopSignal& stop_;
  const absl::Duration interval_;
  std::thread thread_;
};

}  // namespace qb::worker

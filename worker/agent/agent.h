// The agent: keeps the lease with the server alive and runs its attempts in slots.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/log_line.h"
#include "proto/qbc/v1/worker_service.pb.h"
#include "worker/agent/attempt.h"
#include "worker/agent/child_runner.h"
#include "worker/agent/gpu_slots.h"
#include "worker/agent/worker_stub.h"

namespace qb::worker {

struct AgentOptions {
  std::string worker_id;
  std::string epoch;                    // a UUIDv7 of this process
  v1::WorkerCapabilities capabilities;  // `slots` of it are used
  AttemptSettings attempt;
  absl::Duration max_wait = absl::Seconds(10);  // of one Sync
  // How long Shutdown waits for the server to take the last reports, beyond the kill grace.
  absl::Duration shutdown_patience = absl::Seconds(5);
  GpuInventory gpus;  // null: there are none
  // How often the inventory is asked. Default 30 s.
  absl::Duration gpu_check_interval = absl::Seconds(30);
};

// Thread-safe: Run in one thread, Shutdown from any.
class Agent {
 public:
  // `stub` and `runner` must live longer; `log` is called from any thread.
  Agent(AgentOptions options, WorkerStub& stub, ChildRunner& runner, Log log);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Works until Shutdown. Never gives up on a server that is away. Returns FailedPrecondition when
  // a later process with the same worker_id has taken over.
  absl::Status Run();

  // Ends every attempt (SIGTERM, then SIGKILL), gives it back to the server and lets Run return.
  void Shutdown() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void SlotLoop() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status SyncOnce() ABSL_LOCKS_EXCLUDED(mutex_);
  v1::SyncRequest BuildRequest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckGpus() ABSL_LOCKS_EXCLUDED(mutex_);
  void Apply(const v1::SyncResponse& response) ABSL_LOCKS_EXCLUDED(mutex_);
  void StopHeld(const v1::AttemptKey& key, StopReason reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What the server was told last is out of date: ends a Sync that is under way.
  void Changed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until something changed, at most `timeout`.
  void Pause(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  bool Done() ABSL_LOCKS_EXCLUDED(mutex_);
  void AbandonAll() ABSL_LOCKS_EXCLUDED(mutex_);
  void JoinSlots() ABSL_LOCKS_EXCLUDED(mutex_);

  const AgentOptions options_;
  WorkerStub& stub_;
  ChildRunner& runner_;
  const Log log_;
  CallHandle sync_handle_;
  GpuSlots gpus_;
  absl::Time next_gpu_check_ = absl::InfinitePast();  // of the thread in Run

  absl::Mutex mutex_;
  std::map<int64_t, std::unique_ptr<Attempt>> held_ ABSL_GUARDED_BY(mutex_);       // by fence
  std::map<int64_t, std::vector<std::string>> held_gpus_ ABSL_GUARDED_BY(mutex_);  // by fence
  std::deque<Attempt*> waiting_ ABSL_GUARDED_BY(mutex_);  // of held_, not yet in a slot
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;          // since the last request was built
  bool sync_under_way_ ABSL_GUARDED_BY(mutex_) = false;
  bool shutting_down_ ABSL_GUARDED_BY(mutex_) = false;
  bool slots_end_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time give_up_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::vector<std::thread> slots_;
};

}  // namespace qb::worker

// Running one compile process from start to end while watching its output, its time and requests
// to stop it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "worker/agent/child_process.h"
#include "worker/agent/resource_group.h"
#include "worker/agent/stop_signal.h"

namespace qb::worker {

// Receives what the process writes, in pieces as they arrive. Called by the thread in Run.
class ChildOutput {
 public:
  virtual ~ChildOutput() = default;
  virtual void OnStdout(absl::string_view bytes) = 0;
  virtual void OnStderr(absl::string_view bytes) = 0;
};

struct RunLimits {
  absl::Duration run_timeout = absl::InfiniteDuration();
  absl::Duration kill_grace = absl::Seconds(10);  // between SIGTERM and SIGKILL
  int64_t output_bytes = 0;                       // on stdout and stderr together; 0: no limit
  // What may lie in `scratch_folder`; 0: no limit. Looked at every `check_interval`.
  std::string scratch_folder;
  int64_t scratch_bytes = 0;
  int64_t scratch_files = 0;
  int64_t memory_bytes = 0;                            // of all processes, for what is said of it
  absl::Duration cpu_time = absl::InfiniteDuration();  // of all processes
  absl::Duration check_interval = absl::Milliseconds(200);
  // Counts and holds all processes; the program joins it. Null: what it would count is not limited
  // here (the sandbox limits each process).
  const ResourceGroup* group = nullptr;
};

class ChildRunner {
 public:
  virtual ~ChildRunner() = default;

  // Returns when the process ended and all it wrote was handed over. No process of its group is
  // left then. Errors: the process could not be started.
  virtual absl::StatusOr<ExitReport> Run(const ChildOptions& options, const RunLimits& limits,
                                         ChildOutput& output, StopSignal& stop) = 0;
};

// Thread-safe: each call runs its own process. The calling thread must live as long as the agent
// (see ChildProcess).
class ProcessRunner final : public ChildRunner {
 public:
  absl::StatusOr<ExitReport> Run(const ChildOptions& options, const RunLimits& limits,
                                 ChildOutput& output, StopSignal& stop) override;
};

}  // namespace qb::worker

// The worker agents that a server runs on its own machine: started, started again when they die,
// and ended with the server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/log_line.h"

namespace qb::server {

struct LocalAgentsOptions {
  int count = 0;
  // This program: it starts the agents through itself, so that they die with it (see RunAgent).
  std::string server_binary;
  std::string worker_binary;
  std::string compiler_binary;
  std::string server_address;  // as the agents take it
  std::string work_folder;     // each agent has <work_folder>/local-<i>
  // An agent that dies is started again after a pause that doubles from the first value to the
  // second and begins anew when an agent lived longer than the second.
  int64_t first_pause_ms = 50;
  int64_t longest_pause_ms = 5000;
  Log log;
  LogFormat log_format = LogFormat::kText;  // of the agents' own lines
};

// Owner: the thread that creates it.
class LocalAgents {
 public:
  // Errors: those of making the folders. An agent that cannot be started is logged and tried again.
  static absl::StatusOr<std::unique_ptr<LocalAgents>> Start(LocalAgentsOptions options);
  // Stop with no grace.
  ~LocalAgents();

  // Asks the agents to end (SIGTERM: they give their attempts back), waits up to `grace`, then
  // kills.
  void Stop(absl::Duration grace);

 private:
  struct Agent {
    int index = 0;
    int pid = -1;
    int pid_fd = -1;  // readable when the process has ended
    int64_t started_ms = 0;
    int64_t start_at_ms = 0;
    int64_t pause_ms = 0;
  };

  explicit LocalAgents(LocalAgentsOptions options);
  void Loop();
  void StartAgent(Agent& agent);
  void NoteDeath(Agent& agent);
  void WaitForChange(int64_t timeout_ms);
  void EndAll();

  const LocalAgentsOptions options_;
  std::vector<Agent> agents_;  // the thread's alone
  int wake_fd_ = -1;           // an eventfd that Stop writes to
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration grace_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  std::thread thread_;
};

// The flag of `qbc-server` that turns the process into an agent:
//   qbc-server --run-agent <pid of the server> <program> <arguments...>
inline constexpr char kRunAgentFlag[] = "--run-agent";

// Asks the kernel to kill this process when its parent ends, and becomes `program`. Returns only
// with an exit code, after a line on stderr. `arguments` is what follows the flag.
int RunAgent(const std::vector<std::string>& arguments);

}  // namespace qb::server

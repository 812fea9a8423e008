#include "server/process/local_agents.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/runtime/durable_files.h"

namespace qb::server {
namespace {

int64_t NowMs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

std::string AgentName(int index) { return absl::StrCat("local-", index); }

std::string DescribeEnd(int wait_status) {
  return WIFSIGNALED(wait_status) ? absl::StrCat("was killed by signal ", WTERMSIG(wait_status))
                                  : absl::StrCat("exited with ", WEXITSTATUS(wait_status));
}

// Starts `command` in a process group of its own, with an empty signal mask, no descriptors but the
// standard ones, and its output on our stderr. Returns the pid, or minus an errno value.
int Spawn(const std::vector<std::string>& command) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return failed != 0 ? -failed : pid;
}

// glibc has a wrapper since 2.36; older ones and the sanitizers' do not.
int OpenPidFd(int pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

absl::StatusOr<std::unique_ptr<LocalAgents>> LocalAgents::Start(LocalAgentsOptions options) {
  QB_RETURN_IF_ERROR(MakeFolders(options.work_folder));
  auto agents = std::unique_ptr<LocalAgents>(new LocalAgents(std::move(options)));
  agents->wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (agents->wake_fd_ < 0) {
    return FileError(errno, "make", "eventfd");
  }
  // The kernel ends agents with the thread that started them: this one lives as long as the object.
  agents->thread_ = std::thread([raw = agents.get()] { raw->Loop(); });
  return agents;
}

LocalAgents::LocalAgents(LocalAgentsOptions options) : options_(std::move(options)) {
  for (int i = 0; i < options_.count; ++i) {
    Agent agent;
    agent.index = i;
    agents_.push_back(agent);
  }
}

LocalAgents::~LocalAgents() {
  Stop(absl::ZeroDuration());
  if (wake_fd_ >= 0) {
    close(wake_fd_);
  }
}

void LocalAgents::Stop(absl::Duration grace) {
  {
    absl::MutexLock lock(&mutex_);
    if (!stopping_) {
      stopping_ = true;
      grace_ = grace;
    }
  }
  const uint64_t one = 1;
  // Its only failure is a full counter, which wakes the thread as well.
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof(one));
  if (thread_.joinable()) {
    thread_.join();
  }
}

void LocalAgents::Loop() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) {
        break;
      }
    }
    int64_t timeout_ms = -1;
    for (Agent& agent : agents_) {
      if (agent.pid < 0 && NowMs() >= agent.start_at_ms) {
        StartAgent(agent);
      }
      if (agent.pid < 0) {
        const int64_t wait_ms = std::max<int64_t>(1, agent.start_at_ms - NowMs());
        timeout_ms = timeout_ms < 0 ? wait_ms : std::min(timeout_ms, wait_ms);
      }
    }
    WaitForChange(timeout_ms);
  }
  EndAll();
}

void LocalAgents::StartAgent(Agent& agent) {
  const std::string name = AgentName(agent.index);
  const int pid =
      Spawn({options_.server_binary, kRunAgentFlag, absl::StrCat(getpid()), options_.worker_binary,
             "--server", options_.server_address, "--worker-id", name, "--slots", "1", "--work-dir",
             absl::StrCat(options_.work_folder, "/", name), "--compiler-binary",
             options_.compiler_binary, "--log-format",
             options_.log_format == LogFormat::kJson ? "json" : "text"});
  agent.started_ms = NowMs();
  if (pid < 0) {
    options_.log(LogLevel::kError, absl::StrCat("agent ", name, ": cannot start '",
                                                options_.server_binary, "': ", strerror(-pid)));
    agent.pause_ms = options_.longest_pause_ms;
    agent.start_at_ms = agent.started_ms + agent.pause_ms;
    return;
  }
  agent.pid = pid;
  agent.pid_fd = OpenPidFd(pid);
  options_.log(LogLevel::kInfo, absl::StrCat("agent ", name, ": started as process ", pid));
}

void LocalAgents::NoteDeath(Agent& agent) {
  int status = 0;
  if (waitpid(agent.pid, &status, WNOHANG) != agent.pid) {
    return;
  }
  const int64_t now_ms = NowMs();
  const bool lived_long = now_ms - agent.started_ms > options_.longest_pause_ms;
  agent.pause_ms = lived_long || agent.pause_ms == 0
                       ? options_.first_pause_ms
                       : std::min(2 * agent.pause_ms, options_.longest_pause_ms);
  agent.start_at_ms = now_ms + agent.pause_ms;
  options_.log(LogLevel::kWarning, absl::StrCat("agent ", AgentName(agent.index), ": process ",
                                                agent.pid, " ", DescribeEnd(status)));
  if (agent.pid_fd >= 0) {
    close(agent.pid_fd);
  }
  agent.pid = -1;
  agent.pid_fd = -1;
}

// Until an agent dies, Stop is called, or `timeout_ms` have passed (-1: no limit).
void LocalAgents::WaitForChange(int64_t timeout_ms) {
  constexpr int64_t kWithoutPidFdMs = 100;
  std::vector<pollfd> fds = {{wake_fd_, POLLIN, 0}};
  for (const Agent& agent : agents_) {
    if (agent.pid_fd >= 0) {
      fds.push_back({agent.pid_fd, POLLIN, 0});
    } else if (agent.pid >= 0) {
      timeout_ms = timeout_ms < 0 ? kWithoutPidFdMs : std::min(timeout_ms, kWithoutPidFdMs);
    }
  }
  // An interrupted wait is only a short one.
  poll(fds.data(), fds.size(), static_cast<int>(std::min<int64_t>(timeout_ms, 60'000)));
  for (Agent& agent : agents_) {
    if (agent.pid >= 0) {
      NoteDeath(agent);
    }
  }
}

void LocalAgents::EndAll() {
  int64_t deadline_ms = 0;
  {
    absl::MutexLock lock(&mutex_);
    deadline_ms = NowMs() + absl::ToInt64Milliseconds(grace_);
  }
  const auto any_lives = [&] {
    return std::any_of(agents_.begin(), agents_.end(), [](const Agent& a) { return a.pid >= 0; });
  };
  const auto signal_all = [&](int number) {
    for (const Agent& agent : agents_) {
      if (agent.pid >= 0) {
        kill(agent.pid, number);
      }
    }
  };
  uint64_t counter = 0;
  [[maybe_unused]] const ssize_t drained = read(wake_fd_, &counter, sizeof(counter));
  signal_all(SIGTERM);
  while (any_lives() && NowMs() < deadline_ms) {
    WaitForChange(deadline_ms - NowMs());
  }
  signal_all(SIGKILL);
  while (any_lives()) {
    WaitForChange(100);
  }
}

int RunAgent(const std::vector<std::string>& arguments) {
  int parent = 0;
  if (arguments.size() < 2 || !absl::SimpleAtoi(arguments[0], &parent)) {
    fprintf(stderr, "qbc-server %s: expected the server's pid and a program\n", kRunAgentFlag);
    return 2;
  }
  // Survives the exec below.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    return 1;  // the server ended before the line above
  }
  std::vector<char*> argv;
  for (size_t i = 1; i < arguments.size(); ++i) {
    argv.push_back(const_cast<char*>(arguments[i].c_str()));
  }
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  fprintf(stderr, "qbc-server: cannot run '%s': %s\n", argv[0], strerror(errno));
  return 1;
}

}  // namespace qb::server

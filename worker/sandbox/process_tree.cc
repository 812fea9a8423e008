#include "worker/sandbox/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "worker/sandbox/landlock_rules.h"
#include "worker/sandbox/namespaces.h"
#include "worker/sandbox/root_file_system.h"
#include "worker/sandbox/system_call_filter.h"

namespace qb::sandbox {
namespace {

constexpr int kExitNotStarted = 127;

// RLIMIT_* is an enum in C++ and an int elsewhere.
using RlimitKind = decltype(RLIMIT_CORE);

[[noreturn]] void ReportAndExit(int report_fd, const Failure& failure) {
  std::string message(reinterpret_cast<const char*>(&failure.error), sizeof(failure.error));
  message += failure.step;
  [[maybe_unused]] const ssize_t written = write(report_fd, message.data(), message.size());
  _exit(kExitNotStarted);
}

Outcome Limit(RlimitKind kind, uint64_t soft, uint64_t hard, const char* name) {
  const rlimit limit = {soft, hard};
  return FailedIf(setrlimit(kind, &limit) != 0, std::string("layer rlimits: ") + name);
}

Outcome SetLimits(const Policy& policy) {
  QB_SANDBOX_TRY(Limit(RLIMIT_CORE, 0, 0, "core"));
  QB_SANDBOX_TRY(Limit(RLIMIT_NOFILE, policy.max_open_files, policy.max_open_files, "nofile"));
  QB_SANDBOX_TRY(Limit(RLIMIT_NPROC, policy.max_processes, policy.max_processes, "nproc"));
  if (policy.max_file_bytes > 0) {
    QB_SANDBOX_TRY(Limit(RLIMIT_FSIZE, policy.max_file_bytes, policy.max_file_bytes, "fsize"));
  }
  if (policy.max_address_bytes > 0) {
    QB_SANDBOX_TRY(Limit(RLIMIT_AS, policy.max_address_bytes, policy.max_address_bytes, "as"));
  }
  if (policy.max_cpu_seconds > 0) {
    // SIGXCPU first; a process that goes on is killed.
    QB_SANDBOX_TRY(Limit(RLIMIT_CPU, policy.max_cpu_seconds, policy.max_cpu_seconds + 5, "cpu"));
  }
  return std::nullopt;
}

Outcome JoinGroups(const std::vector<std::string>& groups) {
  for (const std::string& group : groups) {
    const int fd = open(group.c_str(), O_WRONLY | O_CLOEXEC);
    QB_SANDBOX_TRY(FailedIf(fd < 0, group));
    const bool joined = write(fd, "0", 1) == 1;
    const int error = errno;
    close(fd);
    if (!joined) {
      return Failure{error, group};
    }
  }
  return std::nullopt;
}

// The kernel kills this process when `parent` ends, also when it has ended already.
Outcome DieWith(pid_t parent, const char* step) {
  QB_SANDBOX_TRY(FailedIf(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0, step));
  // 0: the parent is outside of our process namespace, and cannot be asked.
  return FailedIf(getppid() != parent && getppid() != 0, step);
}

[[noreturn]] void BecomeProgram(const Policy& policy, const std::vector<std::string>& program,
                                int report_fd) {
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (const Outcome failed = GiveUpRights(policy); failed.has_value()) {
    ReportAndExit(report_fd, *failed);
  }
  std::vector<char*> argv;
  argv.reserve(program.size() + 1);
  for (const std::string& word : program) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  ReportAndExit(report_fd, {errno, "exec"});
}

// Without a process namespace: kills whatever has this process as its parent, until nothing has.
void KillChildren() {
  for (int round = 0; round < 1000; ++round) {
    std::ifstream list("/proc/thread-self/children");
    for (pid_t child = 0; list >> child;) {
      kill(child, SIGKILL);
    }
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno == ECHILD) {
      return;
    }
    if (ended == 0) {
      usleep(1000);
    }
  }
}

// What the two processes around the program wait for; blocked in both.
sigset_t WaitedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, kKillSignal);
  return signals;
}

// Waits for the end of `child`, and for the orphans that become ours, and returns how it ended.
// When kKillSignal comes, sends `passed_on` to the child.
int WaitFor(pid_t child, int passed_on) {
  const sigset_t signals = WaitedSignals();
  while (true) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
      if (ended == child) {
        return status;
      }
    }
    if (ended < 0 && errno == ECHILD) {
      return SIGKILL;
    }
    if (sigwaitinfo(&signals, nullptr) == kKillSignal) {
      kill(child, passed_on);
    }
  }
}

// The first process inside. Tells `status_fd` how the program ended.
[[noreturn]] void BeFirst(const Policy& policy, const std::vector<std::string>& program,
                          int report_fd, int status_fd, pid_t outside) {
  Outcome failed = DieWith(outside, "parent");
  if (!failed.has_value() && !policy.layers.Has(Layer::kPid)) {
    failed = FailedIf(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0, "subreaper");
  }
  if (!failed.has_value() && policy.layers.Has(Layer::kMount)) {
    failed = EnterRoot(policy);
  }
  if (failed.has_value()) {
    ReportAndExit(report_fd, *failed);
  }
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child < 0) {
    ReportAndExit(report_fd, {errno, "fork"});
  }
  if (child == 0) {
    close(status_fd);
    if (failed = DieWith(self, "parent"); failed.has_value()) {
      ReportAndExit(report_fd, *failed);
    }
    BecomeProgram(policy, program, report_fd);
  }
  close(report_fd);
  // The reader of the program's output waits for the last end of the pipes.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    close(fd);
  }
  const int status = WaitFor(child, SIGKILL);
  if (policy.layers.Has(Layer::kPid)) {
    kill(-1, SIGKILL);  // everything but this process; what is left goes with it
  } else {
    KillChildren();
  }
  [[maybe_unused]] const ssize_t written = write(status_fd, &status, sizeof(status));
  _exit(0);
}

// Ends this process as `status` says that another one ended.
[[noreturn]] void EndLike(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    raise(number);
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : kExitNotStarted);
}

}  // namespace

Outcome GiveUpRights(const Policy& policy) {
  const LayerSet& layers = policy.layers;
  if (layers.Has(Layer::kRlimits)) {
    QB_SANDBOX_TRY(SetLimits(policy));
  }
  if (layers.Has(Layer::kNoNewPrivs)) {
    QB_SANDBOX_TRY(FailedIf(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0, "layer no_new_privs"));
  }
  if (layers.Has(Layer::kLandlock)) {
    QB_SANDBOX_TRY(RestrictFiles(policy));
  }
  if (layers.Has(Layer::kCapabilities)) {
    QB_SANDBOX_TRY(BoundCapabilities());
    // Without no_new_privs the filter can only be set by who has capabilities; the exec that
    // follows leaves none.
    if (layers.Has(Layer::kNoNewPrivs) || !layers.Has(Layer::kSeccomp)) {
      QB_SANDBOX_TRY(DropCapabilities());
    }
  }
  if (layers.Has(Layer::kSeccomp)) {
    QB_SANDBOX_TRY(FilterSystemCalls());
  }
  return std::nullopt;
}

void RunInSandbox(const Policy& policy, const std::vector<std::string>& program, int report_fd) {
  // The program gets these signals itself; the processes around it stay to clear up.
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  const sigset_t waited = WaitedSignals();
  sigprocmask(SIG_SETMASK, &waited, nullptr);
  fcntl(report_fd, F_SETFD, FD_CLOEXEC);
  // Whatever else has come along.
  close_range(static_cast<unsigned>(report_fd) + 1, ~0U, 0);
  std::array<int, 2> status_pipe = {-1, -1};
  Outcome failed = FailedIf(pipe2(status_pipe.data(), O_CLOEXEC) != 0, "pipe");
  if (!failed.has_value()) {
    failed = JoinGroups(policy.groups);
  }
  if (!failed.has_value()) {
    failed = EnterNamespaces(policy.layers);
  }
  if (failed.has_value()) {
    ReportAndExit(report_fd, *failed);
  }
  const pid_t self = getpid();
  const pid_t first = fork();
  if (first < 0) {
    ReportAndExit(report_fd, {errno, "fork"});
  }
  if (first == 0) {
    close(status_pipe[0]);
    BeFirst(policy, program, report_fd, status_pipe[1], self);
  }
  close(report_fd);
  close(status_pipe[1]);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    close(fd);
  }
  // The kernel lets go of the first process of a namespace when all others are gone.
  const int first_status = WaitFor(first, policy.layers.Has(Layer::kPid) ? SIGKILL : kKillSignal);
  int status = 0;
  const bool told = read(status_pipe[0], &status, sizeof(status)) == sizeof(status);
  EndLike(told ? status : WIFEXITED(first_status) ? first_status : SIGKILL);
}

}  // namespace qb::sandbox

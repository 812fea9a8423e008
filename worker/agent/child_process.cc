#include "worker/agent/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "worker/sandbox/process_tree.h"

namespace qb::worker {
namespace {

// A file descriptor that closes itself.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { Close(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd) {
    Close();
    fd_ = fd;
  }
  void Close() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }

 private:
  int fd_;
};

struct Pipe {
  Fd read_end;
  Fd write_end;
  bool Open() {
    std::array<int, 2> fds;
    if (::pipe2(fds.data(), O_CLOEXEC) != 0) {
      return false;
    }
    read_end.Reset(fds[0]);
    write_end.Reset(fds[1]);
    return true;
  }
};

// Everything that the child needs between fork and exec, prepared before the fork.
struct ExecPlan {
  const char* program;
  char* const* argv;
  char* const* env;
  const char* working_dir;
  int null_fd;
  int stdout_fd;
  int stderr_fd;
  int failure_fd;
  int failure_flags;  // of the descriptor in the new program
  pid_t parent;
};

// Runs in the child of a process with threads: raw system calls only, no library, no allocation.
[[noreturn]] void BecomeProgram(const ExecPlan& plan) {
  const auto raw = [](auto... arguments) { return ::syscall(arguments...); };
  raw(SYS_setsid);
  raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // A parent that died before the line above can no longer send the signal.
  bool ok = raw(SYS_getppid) == plan.parent;
  // Ignored and blocked signals survive an exec: back to the defaults.
  struct {
    void* handler = nullptr;
    uint64_t flags = 0;
    void* restorer = nullptr;
    uint64_t mask = 0;
  } const default_action;
  for (int signal = 1; signal < 32; ++signal) {
    raw(SYS_rt_sigaction, signal, &default_action, nullptr, sizeof(uint64_t));
  }
  const uint64_t no_signals = 0;
  raw(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, nullptr, sizeof(no_signals));
  ok = ok && raw(SYS_dup3, plan.failure_fd, 3, plan.failure_flags) >= 0;
  ok = ok && raw(SYS_chdir, plan.working_dir) == 0;
  ok = ok && raw(SYS_dup3, plan.null_fd, 0, 0) >= 0;
  ok = ok && raw(SYS_dup3, plan.stdout_fd, 1, 0) >= 0;
  ok = ok && raw(SYS_dup3, plan.stderr_fd, 2, 0) >= 0;
  raw(SYS_close_range, 4u, ~0u, 0u);
  if (ok) {
    raw(SYS_execve, plan.program, plan.argv, plan.env);
  }
  const int error = errno;
  raw(SYS_write, 3, &error, sizeof(error));
  raw(SYS_exit_group, 127);
  __builtin_unreachable();
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

absl::Status StartError(absl::string_view program, absl::string_view step, int error) {
  const std::string message =
      absl::StrCat("cannot start '", program, "': ", step, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::InternalError(message);
}

// Descriptors 0 to 3 are the child's: ours must lie above so that dup3 in the child is no no-op
// and none is overwritten before it is used.
bool MoveAbove3(Fd& fd) {
  if (fd.get() > 3) {
    return true;
  }
  const int moved = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 4);
  fd.Reset(moved);
  return moved >= 0;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::string ExitReport::ToString() const {
  std::string how = signal != 0
                        ? absl::StrCat("ended by signal ", signal, " (", strsignal(signal), ")")
                        : absl::StrCat("exited with code ", exit_code);
  switch (kind) {
    case Kind::kExited:
    case Kind::kSignalled:
      return how;
    case Kind::kTimedOut:
      return absl::StrCat("stopped because its run time was over; it ", how);
    case Kind::kKilledByUs:
      return absl::StrCat("stopped on request; it ", how);
    case Kind::kMemoryLimit:
    case Kind::kCpuLimit:
    case Kind::kDiskLimit:
    case Kind::kOutputLimit:
      return absl::StrCat("stopped because it went over its limit of ", limit);
  }
  return how;
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const ChildOptions& options) {
  QB_CHECK(!options.argv.empty());
  const std::string& program = options.argv[0];
  Pipe out;
  Pipe err;
  Pipe failure;
  Fd null_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null_fd.get() < 0 || !out.Open() || !err.Open() || !failure.Open() || !MoveAbove3(null_fd) ||
      !MoveAbove3(out.write_end) || !MoveAbove3(err.write_end) || !MoveAbove3(failure.write_end)) {
    return StartError(program, "pipes", errno);
  }
  const std::vector<char*> argv = Pointers(options.argv);
  const std::vector<char*> env = Pointers(options.env);
  const ExecPlan plan{.program = program.c_str(),
                      .argv = argv.data(),
                      .env = env.data(),
                      .working_dir = options.working_dir.c_str(),
                      .null_fd = null_fd.get(),
                      .stdout_fd = out.write_end.get(),
                      .stderr_fd = err.write_end.get(),
                      .failure_fd = failure.write_end.get(),
                      .failure_flags = options.starts_another ? 0 : O_CLOEXEC,
                      .parent = ::getpid()};
  // _Fork runs no handlers of pthread_atfork: gRPC and malloc of other threads are left alone.
  const pid_t pid = ::_Fork();
  if (pid < 0) {
    return StartError(program, "fork", errno);
  }
  if (pid == 0) {
    BecomeProgram(plan);
  }
  const int pid_fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  const int pid_fd_error = errno;
  std::unique_ptr<ChildProcess> child(new ChildProcess(
      pid, pid_fd, out.read_end.Release(), err.read_end.Release(), options.starts_another));
  if (pid_fd < 0) {
    return StartError(program, "pidfd_open", pid_fd_error);
  }
  failure.write_end.Close();
  std::array<char, 512> report = {};
  ssize_t got = 0;
  do {
    got = ::read(failure.read_end.get(), report.data(), report.size());
  } while (got < 0 && errno == EINTR);
  int error = 0;
  if (got >= static_cast<ssize_t>(sizeof(error))) {
    std::memcpy(&error, report.data(), sizeof(error));
    const std::string step(report.data() + sizeof(error), static_cast<size_t>(got) - sizeof(error));
    return StartError(program, step.empty() ? "exec" : step, error);
  }
  ::fcntl(child->stdout_fd_, F_SETFL, O_NONBLOCK);
  ::fcntl(child->stderr_fd_, F_SETFL, O_NONBLOCK);
  return child;
}

ChildProcess::~ChildProcess() {
  if (!reaped_) {
    SignalGroup(SIGKILL);
    // Before its setsid the child has no group of its own yet.
    ::kill(pid_, SIGKILL);
    Reap();
  }
  for (const int fd : {pid_fd_, stdout_fd_, stderr_fd_}) {
    if (fd >= 0) {
      ::close(fd);
    }
  }
}

void ChildProcess::SignalGroup(int signal) const {
  if (!reaped_) {
    ::kill(-pid_, signal);
  }
}

void ChildProcess::Kill() const {
  if (starts_another_ && !reaped_) {
    ::kill(pid_, sandbox::kKillSignal);
  } else {
    SignalGroup(SIGKILL);
  }
}

ExitReport ChildProcess::Reap() {
  QB_CHECK(!reaped_);
  siginfo_t ignored;
  // The dead child keeps its number until it is reaped, so the group cannot be somebody else's.
  while (::waitid(P_PID, static_cast<id_t>(pid_), &ignored, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  SignalGroup(SIGKILL);
  int status = 0;
  rusage usage = {};
  while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  ExitReport report;
  if (WIFSIGNALED(status)) {
    report.kind = ExitReport::Kind::kSignalled;
    report.signal = WTERMSIG(status);
    report.exit_code = -1;
  } else {
    report.exit_code = WEXITSTATUS(status);
  }
  report.cpu_s = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  report.peak_rss_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  return report;
}

}  // namespace qb::worker

#include "worker/agent/child_runner.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "worker/agent/folder_usage.h"

namespace qb::worker {
namespace {

// A grandchild that left the group can hold the pipes open for ever: after the child's end only
// what is in the pipes already is read, and at most this much.
constexpr size_t kMaxBytesAfterExit = size_t{4} << 20;
// A sandbox that has not ended its processes by then is killed itself.
constexpr absl::Duration kForceAfter = absl::Milliseconds(500);

// The wall clock may jump; leases and limits must not.
absl::Time MonotonicNow() {
  timespec now = {};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::UnixEpoch() + absl::Seconds(now.tv_sec) + absl::Nanoseconds(now.tv_nsec);
}

// The state of one run: the poll loop and the escalation from SIGTERM to SIGKILL.
class Run {
 public:
  Run(ChildProcess& child, const RunLimits& limits, ChildOutput& output, StopSignal& stop)
      : child_(child),
        limits_(limits),
        grace_(limits.kill_grace),
        output_(output),
        stop_(stop),
        start_(MonotonicNow()),
        timeout_at_(start_ + limits.run_timeout),
        buffer_(size_t{64} * 1024) {}

  ExitReport UntilEnd() {
    while (!PollOnce()) {
    }
    ExitReport report = child_.Reap();
    if (limits_.group != nullptr) {
      // Also what has left the process group and is not in a process namespace.
      limits_.group->Kill();
    }
    ReadAvailable(child_.stdout_fd(), stdout_open_, true, kMaxBytesAfterExit);
    ReadAvailable(child_.stderr_fd(), stderr_open_, false, kMaxBytesAfterExit);
    report.wall_s = absl::ToDoubleSeconds(MonotonicNow() - start_);
    if (exceeded_ != ExitReport::Kind::kExited) {
      report.kind = exceeded_;
      report.limit = limit_;
    } else if (timed_out_) {
      report.kind = ExitReport::Kind::kTimedOut;
    } else if (term_sent_) {
      report.kind = ExitReport::Kind::kKilledByUs;
    }
    NoteGroup(report);
    return report;
  }

 private:
  // Waits for the next thing and handles it. True once the child has ended.
  bool PollOnce() {
    std::array<pollfd, 4> fds = {pollfd{child_.exit_fd(), POLLIN, 0}, pollfd{stop_.fd(), POLLIN, 0},
                                 pollfd{stdout_open_ ? child_.stdout_fd() : -1, POLLIN, 0},
                                 pollfd{stderr_open_ ? child_.stderr_fd() : -1, POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), PollTimeoutMs()) < 0) {
      QB_CHECK_MSG(errno == EINTR, "poll failed with errno ", errno);
      return false;
    }
    if (fds[1].revents != 0) {
      stop_.Drain();
      HandleStop();
    }
    HandleTime();
    if (fds[2].revents != 0) {
      ReadAvailable(child_.stdout_fd(), stdout_open_, true, buffer_.size());
    }
    if (fds[3].revents != 0) {
      ReadAvailable(child_.stderr_fd(), stderr_open_, false, buffer_.size());
    }
    return fds[0].revents != 0;
  }

  int PollTimeoutMs() const {
    absl::Time next = kill_sent_ ? force_at_ : term_sent_ ? kill_at_ : timeout_at_;
    if (!kill_sent_ && ChecksUsage()) {
      next = std::min(next, check_at_);
    }
    if (next == absl::InfiniteFuture()) {
      return -1;
    }
    const int64_t ms = absl::ToInt64Milliseconds(next - MonotonicNow()) + 1;
    return static_cast<int>(std::clamp<int64_t>(ms, 0, 60'000));
  }

  void HandleStop() {
    const StopReason reason = stop_.reason();
    if (reason == StopReason::kNone) {
      return;
    }
    if (reason == StopReason::kAbandoned) {
      Kill();
    } else {
      Terminate();
    }
  }

  void HandleTime() {
    const absl::Time now = MonotonicNow();
    if (!term_sent_ && now >= timeout_at_) {
      timed_out_ = true;
      Terminate();
    }
    if (term_sent_ && !kill_sent_ && now >= kill_at_) {
      Kill();
    }
    if (kill_sent_ && now >= force_at_) {
      force_at_ = absl::InfiniteFuture();
      child_.SignalGroup(SIGKILL);
    }
    if (!kill_sent_ && ChecksUsage() && now >= check_at_) {
      CheckUsage();
      check_at_ = MonotonicNow() + limits_.check_interval;
    }
  }

  bool ChecksUsage() const {
    return limits_.scratch_bytes > 0 || limits_.scratch_files > 0 ||
           (limits_.group != nullptr && limits_.cpu_time != absl::InfiniteDuration());
  }

  void CheckUsage() {
    if (limits_.scratch_bytes > 0 || limits_.scratch_files > 0) {
      const FolderUsage usage = MeasureFolder(
          limits_.scratch_folder, limits_.scratch_files > 0 ? limits_.scratch_files : INT64_MAX);
      if (limits_.scratch_bytes > 0 && usage.bytes > limits_.scratch_bytes) {
        Exceed(ExitReport::Kind::kDiskLimit,
               absl::StrCat(limits_.scratch_bytes, " bytes in its folder"));
      } else if (limits_.scratch_files > 0 && usage.files > limits_.scratch_files) {
        Exceed(ExitReport::Kind::kDiskLimit,
               absl::StrCat(limits_.scratch_files, " files in its folder"));
      }
    }
    if (limits_.group != nullptr && limits_.cpu_time != absl::InfiniteDuration() &&
        absl::Microseconds(limits_.group->Read().cpu_us) > limits_.cpu_time) {
      Exceed(ExitReport::Kind::kCpuLimit,
             absl::StrCat(absl::FormatDuration(limits_.cpu_time), " of CPU time"));
    }
  }

  // Nothing that goes over a limit is given time to go on.
  void Exceed(ExitReport::Kind kind, std::string limit) {
    if (exceeded_ == ExitReport::Kind::kExited) {
      exceeded_ = kind;
      limit_ = std::move(limit);
    }
    Kill();
  }

  // What only the kernel knows: who was ended for the sake of memory, and what all have used.
  void NoteGroup(ExitReport& report) const {
    if (report.signal == SIGXCPU && report.kind == ExitReport::Kind::kSignalled) {
      report.kind = ExitReport::Kind::kCpuLimit;
      report.limit = "CPU time of one process";
    }
    if (report.signal == SIGXFSZ && report.kind == ExitReport::Kind::kSignalled) {
      report.kind = ExitReport::Kind::kDiskLimit;
      report.limit = "bytes in one file";
    }
    if (limits_.group == nullptr) {
      return;
    }
    const GroupUsage usage = limits_.group->Read();
    if (usage.memory_kills > 0 && !(report.signal == 0 && report.exit_code == 0) && !timed_out_) {
      report.kind = ExitReport::Kind::kMemoryLimit;
      report.limit = absl::StrCat(limits_.memory_bytes, " bytes of memory");
    }
    report.cpu_s = std::max(report.cpu_s, static_cast<double>(usage.cpu_us) * 1e-6);
    report.peak_rss_bytes = std::max(report.peak_rss_bytes, usage.peak_memory_bytes);
  }

  void Terminate() {
    if (!term_sent_) {
      term_sent_ = true;
      kill_at_ = MonotonicNow() + grace_;
      child_.SignalGroup(SIGTERM);
      // A stopped process handles no SIGTERM before it is continued.
      child_.SignalGroup(SIGCONT);
    }
  }

  void Kill() {
    if (kill_sent_) {
      return;
    }
    term_sent_ = true;
    kill_sent_ = true;
    child_.Kill();
    if (child_.kills_through_another()) {
      force_at_ = MonotonicNow() + kForceAfter;
    }
  }

  // Hands over up to about `max_bytes` that can be read without waiting.
  void ReadAvailable(int fd, bool& open, bool is_stdout, size_t max_bytes) {
    size_t total = 0;
    while (open && total < max_bytes) {
      const ssize_t got = ::read(fd, buffer_.data(), buffer_.size());
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return;
      }
      if (got <= 0) {
        open = false;
        return;
      }
      total += static_cast<size_t>(got);
      output_bytes_ += got;
      if (limits_.output_bytes > 0 && output_bytes_ > limits_.output_bytes) {
        Exceed(ExitReport::Kind::kOutputLimit,
               absl::StrCat(limits_.output_bytes, " bytes on its outputs"));
        return;
      }
      const absl::string_view bytes(buffer_.data(), static_cast<size_t>(got));
      if (is_stdout) {
        output_.OnStdout(bytes);
      } else {
        output_.OnStderr(bytes);
      }
    }
  }

  ChildProcess& child_;
  const RunLimits& limits_;
  const absl::Duration grace_;
  ChildOutput& output_;
  StopSignal& stop_;
  const absl::Time start_;
  const absl::Time timeout_at_;
  absl::Time kill_at_;
  absl::Time force_at_ = absl::InfiniteFuture();
  absl::Time check_at_ = absl::InfinitePast();
  int64_t output_bytes_ = 0;
  ExitReport::Kind exceeded_ = ExitReport::Kind::kExited;  // kExited: nothing
  std::string limit_;
  std::vector<char> buffer_;
  bool stdout_open_ = true;
  bool stderr_open_ = true;
  bool term_sent_ = false;
  bool kill_sent_ = false;
  bool timed_out_ = false;
};

}  // namespace

absl::StatusOr<ExitReport> ProcessRunner::Run(const ChildOptions& options, const RunLimits& limits,
                                              ChildOutput& output, StopSignal& stop) {
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
  worker::Run run(*child, limits, output, stop);
  return run.UntilEnd();
}

}  // namespace qb::worker

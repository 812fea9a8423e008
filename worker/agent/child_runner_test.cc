#include "worker/agent/child_runner.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "worker/agent/stray_processes.h"

namespace qb::worker {
namespace {

using ::qb::testing::StatusIs;
using ::qb::testing::TempDir;
using ::testing::HasSubstr;

class Collected final : public ChildOutput {
 public:
  void OnStdout(absl::string_view bytes) override {
    out.append(bytes.data(), bytes.size());
    // The scripts print a line when they are ready to be interrupted.
    if (!ready.HasBeenNotified() && absl::StrContains(out, '\n')) {
      ready.Notify();
    }
  }
  void OnStderr(absl::string_view bytes) override { err.append(bytes.data(), bytes.size()); }
  std::string out;
  std::string err;
  absl::Notification ready;
};

ChildOptions Shell(const std::string& script) {
  ChildOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.env = {"PATH=/usr/bin:/bin", "MARK=set"};
  options.working_dir = "/";
  return options;
}

ExitReport RunShell(const std::string& script, Collected& output, StopSignal& stop,
                    const RunLimits& limits = {}) {
  absl::StatusOr<ExitReport> report = ProcessRunner().Run(Shell(script), limits, output, stop);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : ExitReport{};
}

// A process that is gone, or dead and only not yet reaped by whoever adopted it.
bool IsGone(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string number;
  std::string name;
  std::string state;
  return !(file >> number >> name >> state) || state == "Z" || state == "X";
}

bool BecomesGone(pid_t pid) {
  for (int i = 0; i < 500 && !IsGone(pid); ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  return IsGone(pid);
}

TEST(ProcessRunner, ReportsExitCodeAndBothStreams) {
  Collected output;
  StopSignal stop;
  const ExitReport report = RunShell("echo out $MARK; echo err >&2; pwd; exit 3", output, stop);
  EXPECT_EQ(report.kind, ExitReport::Kind::kExited);
  EXPECT_EQ(report.exit_code, 3);
  EXPECT_EQ(output.out, "out set\n/\n");
  EXPECT_EQ(output.err, "err\n");
  EXPECT_GT(report.peak_rss_bytes, 0);
}

TEST(ProcessRunner, HandsOverMoreThanAPipeHolds) {
  Collected output;
  StopSignal stop;
  RunShell("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2", output, stop);
  EXPECT_EQ(output.out.size(), 3'000'000u);
  EXPECT_EQ(output.err.size(), 2'000'000u);
}

TEST(ProcessRunner, NamesTheSignalOfACrash) {
  Collected output;
  StopSignal stop;
  const ExitReport report = RunShell("kill -SEGV $$", output, stop);
  EXPECT_EQ(report.kind, ExitReport::Kind::kSignalled);
  EXPECT_EQ(report.signal, SIGSEGV);
  EXPECT_THAT(report.ToString(), HasSubstr("signal 11"));
}

TEST(ProcessRunner, RefusesAProgramThatDoesNotExist) {
  Collected output;
  StopSignal stop;
  ChildOptions options = Shell("");
  options.argv[0] = "/nonexistent/compiler";
  EXPECT_THAT(ProcessRunner().Run(options, {}, output, stop),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nonexistent/compiler")));
}

TEST(ProcessRunner, EndsAProcessAtItsTimeLimit) {
  Collected output;
  StopSignal stop;
  RunLimits limits;
  limits.run_timeout = absl::Milliseconds(50);
  const ExitReport report = RunShell("sleep 1000", output, stop, limits);
  EXPECT_EQ(report.kind, ExitReport::Kind::kTimedOut);
  EXPECT_EQ(report.signal, SIGTERM);
}

TEST(ProcessRunner, CancelsWithSigtermFirst) {
  Collected output;
  StopSignal stop;
  std::thread canceller([&] {
    output.ready.WaitForNotification();
    stop.Request(StopReason::kCancelled);
  });
  const ExitReport report = RunShell(
      "trap 'echo bye; exit 130' TERM; echo ready; while :; do sleep 0.01; done", output, stop);
  canceller.join();
  EXPECT_EQ(report.kind, ExitReport::Kind::kKilledByUs);
  EXPECT_EQ(report.exit_code, 130);
  EXPECT_THAT(output.out, HasSubstr("bye"));
}

TEST(ProcessRunner, KillsAProcessThatIgnoresSigtermAfterTheGrace) {
  Collected output;
  StopSignal stop;
  RunLimits limits;
  limits.kill_grace = absl::Milliseconds(50);
  std::thread canceller([&] {
    output.ready.WaitForNotification();
    stop.Request(StopReason::kCancelled);
  });
  const ExitReport report =
      RunShell("trap '' TERM; echo ready; while :; do sleep 0.01; done", output, stop, limits);
  canceller.join();
  EXPECT_EQ(report.kind, ExitReport::Kind::kKilledByUs);
  EXPECT_EQ(report.signal, SIGKILL);
}

TEST(ProcessRunner, KillsAnAbandonedProcessWithoutGrace) {
  Collected output;
  StopSignal stop;
  RunLimits limits;
  limits.kill_grace = absl::Hours(1);
  std::thread canceller([&] {
    output.ready.WaitForNotification();
    stop.Request(StopReason::kCancelled);
    stop.Request(StopReason::kAbandoned);
  });
  const ExitReport report =
      RunShell("trap '' TERM; echo ready; while :; do sleep 0.01; done", output, stop, limits);
  canceller.join();
  EXPECT_EQ(report.signal, SIGKILL);
}

TEST(ProcessRunner, LeavesNoProcessOfTheGroupAndDoesNotWaitForItsPipes) {
  Collected output;
  StopSignal stop;
  const ExitReport report = RunShell("sleep 1000 & echo $!", output, stop);
  EXPECT_EQ(report.exit_code, 0);
  int pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(output.out, &pid));
  EXPECT_TRUE(BecomesGone(pid));
}

TEST(KillStrayProcesses, FindsAProcessThatLeftItsSession) {
  TempDir dir;
  Collected output;
  StopSignal stop;
  ChildOptions options = Shell("setsid sleep 1000 >/dev/null 2>&1 & echo $!; sleep 0.05");
  options.env.push_back(absl::StrCat(kAttemptDirVariable, "=", dir.path(), "/7"));
  QB_ASSERT_OK(ProcessRunner().Run(options, {}, output, stop));
  int pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(output.out, &pid));
  EXPECT_FALSE(IsGone(pid));
  EXPECT_EQ(KillStrayProcesses(dir.path() + "/other"), 0);
  // A name that only begins like the folder is another folder.
  EXPECT_EQ(KillStrayProcesses(dir.path().substr(0, dir.path().size() - 1)), 0);
  EXPECT_EQ(KillStrayProcesses(dir.path()), 1);
  EXPECT_TRUE(BecomesGone(pid));
}

TEST(ChildProcess, InheritsNoDescriptorsAndNoBlockedSignals) {
  Collected output;
  StopSignal stop;
  sigset_t block;
  sigemptyset(&block);
  sigaddset(&block, SIGTERM);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &block, &before);
  const int leaked = ::dup2(0, 77);
  RunShell("ls /proc/self/fd | tr '\\n' ' '; grep SigBlk /proc/self/status", output, stop);
  ::close(leaked);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // 3 is the folder that ls reads.
  EXPECT_THAT(output.out, HasSubstr("0 1 2 3 SigBlk:\t0000000000000000"));
}

}  // namespace
}  // namespace qb::worker

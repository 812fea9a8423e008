// Hostile programs under the agent: whatever they do, they end in time, leave nothing, and the
// reason is told.
#include "worker/agent/confinement.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "worker/agent/child_runner.h"

namespace qb::worker {
namespace {

using ::testing::HasSubstr;
using Kind = ExitReport::Kind;

class Ignored final : public ChildOutput {
 public:
  void OnStdout(absl::string_view /*bytes*/) override {}
  void OnStderr(absl::string_view /*bytes*/) override {}
};

std::string BinFolder() {
  const char* folder = std::getenv("QB_BIN_DIR");
  char* absolute = ::realpath(folder != nullptr ? folder : "build/release/bin", nullptr);
  std::string result = absolute != nullptr ? absolute : "";
  std::free(absolute);
  return result;
}

// Processes whose command line has `text`: those of the test know its temporary folder.
int ProcessesWith(const std::string& text) {
  int count = 0;
  DIR* listing = ::opendir("/proc");
  while (const dirent* entry = ::readdir(listing)) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->d_name, &pid) && pid != ::getpid()) {
      std::ifstream file(absl::StrCat("/proc/", pid, "/cmdline"));
      std::stringstream line;
      line << file.rdbuf();
      count += absl::StrContains(line.str(), text) ? 1 : 0;
    }
  }
  ::closedir(listing);
  return count;
}

class ConfinementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    QB_ASSERT_OK_AND_ASSIGN(confinement_, ProbeConfinement(BinFolder() + "/qbc-sandbox"));
    for (const char* name : {"root", "out", "tmp"}) {
      ASSERT_EQ(::mkdir(folder_.File(name).c_str(), 0755), 0);
    }
    run_.kill_grace = absl::Milliseconds(300);
    run_.run_timeout = absl::Seconds(30);
    run_.check_interval = absl::Milliseconds(50);
    run_.scratch_folder = folder_.path();
  }

  ExitReport Run(const std::string& deed, const std::string& argument,
                 const ConfinementLimits& limits = {}) {
    ChildOptions plain;
    plain.argv = {BinFolder() + "/hostile_child", deed, argument};
    plain.env = {"PATH=/usr/bin:/bin"};
    plain.working_dir = folder_.path();
    std::unique_ptr<ResourceGroup> group;
    if (confinement_.groups.kind != GroupParent::Kind::kNone) {
      auto made = ResourceGroup::Create(confinement_.groups, absl::StrCat("qbc-test-", ::getpid()),
                                        {limits.memory_bytes, limits.processes});
      EXPECT_TRUE(made.ok()) << made.status();
      group = *std::move(made);
    }
    run_.group = group.get();
    run_.memory_bytes = limits.memory_bytes;
    run_.cpu_time = limits.cpu_time;
    Ignored output;
    const absl::StatusOr<ExitReport> report = ProcessRunner().Run(
        Confine(confinement_, limits, group.get(), false, plain), run_, output, stop_);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : ExitReport{};
  }

  // What a limit ends is nothing that another one would have ended.
  void ExpectWorksWithoutLimit(const std::string& deed, const std::string& argument) {
    const ExitReport report = Run(deed, argument);
    EXPECT_EQ(report.kind, Kind::kExited) << report.ToString();
    EXPECT_EQ(report.exit_code, 0) << report.ToString();
  }

  qb::testing::TempDir folder_;
  Confinement confinement_;
  RunLimits run_;
  StopSignal stop_;
};

TEST_F(ConfinementTest, ACancelEndsTheWholeTreeWithinGraceAndASecond) {
  const std::string out = folder_.File("out");
  for (int i = 0; i < 5; ++i) {
    StopSignal stop;
    absl::Time asked;
    std::thread canceller([&] {
      for (int wait = 0; wait < 1000 && ::access((out + "/3").c_str(), F_OK) != 0; ++wait) {
        absl::SleepFor(absl::Milliseconds(5));
      }
      asked = absl::Now();
      stop.Request(StopReason::kCancelled);
    });
    ChildOptions plain;
    plain.argv = {BinFolder() + "/hostile_child", "leave_processes", out + ",stay"};
    plain.working_dir = folder_.path();
    Ignored output;
    const auto report =
        ProcessRunner().Run(Confine(confinement_, {}, nullptr, false, plain), run_, output, stop);
    canceller.join();
    QB_ASSERT_OK(report.status());
    EXPECT_EQ(report->kind, Kind::kKilledByUs);
    EXPECT_LT(absl::Now() - asked, run_.kill_grace + absl::Seconds(1));
    EXPECT_EQ(ProcessesWith(out + ",stay"), 0);
    for (const char* name : {"/0", "/1", "/2", "/3"}) {
      ::unlink((out + name).c_str());
    }
  }
}

TEST_F(ConfinementTest, ProcessesThatAreLeftBehindEndWithTheProgram) {
  const std::string argument = folder_.File("out") + ",exit";
  EXPECT_EQ(Run("leave_processes", argument).exit_code, 0);
  EXPECT_EQ(ProcessesWith(argument), 0);
}

// Where the machine has no process namespaces.
TEST_F(ConfinementTest, WithoutAProcessNamespaceOrphansAreEndedToo) {
  confinement_.layers.Remove(sandbox::Layer::kPid);
  const std::string argument = folder_.File("out") + ",exit";
  EXPECT_EQ(Run("leave_processes", argument).exit_code, 0);
  EXPECT_EQ(ProcessesWith(argument), 0);
}

TEST_F(ConfinementTest, EndsOfTheProgramComeThroughTheSandbox) {
  EXPECT_EQ(Run("nothing", "").exit_code, 0);
  EXPECT_EQ(Run("read", "/etc/passwd").exit_code, 1);
  EXPECT_EQ(Run("be_traced", "").signal, SIGSYS);
}

TEST_F(ConfinementTest, AProgramThatIsNotThereIsAnErrorOfTheStart) {
  ChildOptions plain;
  plain.argv = {"/usr/bin/nonexistent-program"};
  plain.working_dir = folder_.path();
  Ignored output;
  EXPECT_THAT(ProcessRunner()
                  .Run(Confine(confinement_, {}, nullptr, false, plain), run_, output, stop_)
                  .status()
                  .ToString(),
              HasSubstr("exec: No such file"));
  plain.argv = {BinFolder() + "/hostile_child"};
  plain.working_dir = folder_.File("nonexistent");
  EXPECT_FALSE(ProcessRunner()
                   .Run(Confine(confinement_, {}, nullptr, false, plain), run_, output, stop_)
                   .ok());
}

TEST_F(ConfinementTest, MemoryBeyondTheLimitIsToldByTheKernel) {
  if (confinement_.groups.kind == GroupParent::Kind::kNone) {
    GTEST_SKIP() << confinement_.groups.why_none;
  }
  ConfinementLimits limits;
  limits.memory_bytes = 64 << 20;
  const ExitReport report = Run("eat_memory", "128", limits);
  EXPECT_EQ(report.kind, Kind::kMemoryLimit) << report.ToString();
  EXPECT_THAT(report.ToString(), HasSubstr("67108864 bytes of memory"));
  EXPECT_EQ(Run("eat_memory", "8", limits).kind, Kind::kExited);
  ExpectWorksWithoutLimit("eat_memory", "128");
}

TEST_F(ConfinementTest, AForkBombEndsAtItsLimit) {
  if (confinement_.groups.kind == GroupParent::Kind::kNone) {
    GTEST_SKIP() << confinement_.groups.why_none;
  }
  ConfinementLimits limits;
  limits.processes = 64;
  EXPECT_EQ(Run("fork_bomb", "", limits).exit_code, 1);
  limits.processes = 5000;
  EXPECT_EQ(Run("fork_bomb", "", limits).exit_code, 0);
}

TEST_F(ConfinementTest, CpuTimeOfAllProcesses) {
  ConfinementLimits limits;
  limits.cpu_time = absl::Seconds(1);
  run_.run_timeout = absl::Minutes(4);  // on a machine that has much else to do
  const ExitReport report = Run("burn_cpu", "20", limits);
  EXPECT_EQ(report.kind, Kind::kCpuLimit) << report.ToString();
  EXPECT_LT(report.cpu_s, 8);
  ExpectWorksWithoutLimit("burn_cpu", "2");
}

TEST_F(ConfinementTest, BytesInItsFolder) {
  run_.scratch_bytes = 8 << 20;
  const ExitReport report = Run("write_much", folder_.File("out/much"));
  if (report.kind != Kind::kDiskLimit) {
    // Written before anybody looked; what lies there is seen at the next look of a slower program.
    EXPECT_EQ(report.exit_code, 0) << report.ToString();
    EXPECT_EQ(Run("burn_cpu", "5").kind, Kind::kDiskLimit);
  }
  run_.scratch_bytes = 0;
  ExpectWorksWithoutLimit("write_much", folder_.File("out/much"));
}

TEST_F(ConfinementTest, FilesInItsFolder) {
  run_.scratch_files = 2;
  const ExitReport report = Run("burn_cpu", "10");
  EXPECT_EQ(report.kind, Kind::kDiskLimit);
  EXPECT_THAT(report.limit, HasSubstr("2 files"));
  run_.scratch_files = 0;
  ExpectWorksWithoutLimit("make_files", folder_.File("out") + ",50");
}

TEST_F(ConfinementTest, OneFileBeyondTheLimit) {
  ConfinementLimits limits;
  limits.scratch_bytes = 1 << 20;
  EXPECT_EQ(Run("write_much", folder_.File("out/much"), limits).kind, Kind::kDiskLimit);
  ExpectWorksWithoutLimit("write_much", folder_.File("out/much"));
}

TEST_F(ConfinementTest, OutputWithoutEnd) {
  run_.output_bytes = 4 << 20;
  const ExitReport report = Run("flood", "64");
  EXPECT_EQ(report.kind, Kind::kOutputLimit);
  EXPECT_THAT(report.ToString(), HasSubstr("4194304 bytes on its outputs"));
  run_.output_bytes = 0;
  ExpectWorksWithoutLimit("flood", "64");
}

TEST_F(ConfinementTest, WallTime) {
  run_.run_timeout = absl::Milliseconds(200);
  EXPECT_EQ(Run("burn_cpu", "60").kind, Kind::kTimedOut);
  run_.run_timeout = absl::InfiniteDuration();
  ExpectWorksWithoutLimit("burn_cpu", "1");
}

TEST(ProbeConfinement, NamesTheProgramThatIsMissing) {
  EXPECT_THAT(ProbeConfinement("/nonexistent/qbc-sandbox").status().ToString(),
              HasSubstr("/nonexistent/qbc-sandbox"));
}

}  // namespace
}  // namespace qb::worker

// The commands about jobs that are there already, and the help.
#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/progress_view.h"
#include "client/cli/testing/cli_fixture.h"
#include "core/base/failure.h"

namespace qb::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CommandsCli : public CliFixture {
 protected:
  void AddJobs(int count, qbc::v1::JobState state = qbc::v1::JOB_STATE_QUEUED) {
    absl::MutexLock lock(&server_.mutex);
    for (int i = 0; i < count; ++i) {
      qbc::v1::Job& job = server_.jobs.emplace_back();
      job.set_id("j" + std::to_string(server_.jobs.size()));
      job.set_state(state);
      job.mutable_spec()->set_target_device("aries-rb");
    }
  }
};

TEST_F(CommandsCli, JobsListsNewestFirst) {
  AddJobs(3);
  const RunResult result = Run({"jobs"});
  EXPECT_EQ(result.code, 0);
  EXPECT_LT(result.out.find("j3"), result.out.find("j1"));
  EXPECT_THAT(result.out, HasSubstr("STATE"));
}

TEST_F(CommandsCli, JobsReadsAsManyPagesAsItNeeds) {
  AddJobs(1200);
  const std::vector<Json> all = Lines(Run({"jobs", "-n", "1100", "--json"}).out);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["jobs"].items().size(), 1100u);
  EXPECT_EQ(all[0]["jobs"].items().front()["id"].as_string(), "j1200");
  EXPECT_EQ(all[0]["jobs"].items().back()["id"].as_string(), "j101");
  EXPECT_TRUE(all[0]["more"].as_bool());
}

TEST_F(CommandsCli, JobsFiltersByState) {
  AddJobs(2, qbc::v1::JOB_STATE_FAILED);
  AddJobs(1, qbc::v1::JOB_STATE_RUNNING);
  const std::vector<Json> failed = Lines(Run({"jobs", "-s", "failed", "--json"}).out);
  EXPECT_EQ(failed[0]["jobs"].items().size(), 2u);
  const RunResult wrong = Run({"jobs", "-s", "broken"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("accepted are queued, running"));
}

TEST_F(CommandsCli, GetShowsOneJob) {
  AddJobs(1);
  FailFakeJob(server_, "j1", qbc::v1::FAILURE_REASON_TARGET_ERROR, "TARGET_ERROR", "no \x1b such");
  const RunResult result = Run({"get", "j1"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("failed"));
  EXPECT_THAT(result.out, HasSubstr("TARGET_ERROR"));
  EXPECT_THAT(result.out, HasSubstr("no \\x1b such"));
  EXPECT_EQ(Run({"get", "j9"}).code, 7);
  EXPECT_EQ(Run({"get"}).code, 2);
}

TEST_F(CommandsCli, WatchAndWaitEndWithTheJobsCode) {
  AddJobs(2);
  FinishFakeJob(server_, "j1", "mxq");
  FailFakeJob(server_, "j2", qbc::v1::FAILURE_REASON_CALIBRATION_DATA_ERROR,
              "CALIBRATION_DATA_ERROR", "sample 3");
  EXPECT_EQ(Run({"watch", "j1"}).out, "succeeded\n");
  const RunResult failed = Run({"wait", "j2", "--progress", "none"});
  EXPECT_EQ(failed.code, 3);
  EXPECT_EQ(failed.out, "failed\n");
  EXPECT_THAT(failed.err, HasSubstr("ERROR [CALIBRATION_DATA_ERROR]: sample 3"));
}

TEST_F(CommandsCli, WatchGoesOnOverALostConnection) {
  AddJobs(1);
  FinishFakeJob(server_, "j1", "mxq");
  {
    absl::MutexLock lock(&server_.mutex);
    server_.break_watches_after = {2, 1};
  }
  const RunResult result = Run({"watch", "j1", "--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(Lines(result.out).size(), 7u);  // six events, each once, and the answer
}

TEST_F(CommandsCli, CancelTellsTheStateAfterwards) {
  AddJobs(2);
  const RunResult result = Run({"cancel", "j1", "j2", "--reason", "too slow"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "j1 cancelled\nj2 cancelled\n");
  EXPECT_EQ(Run({"wait", "j1"}).code, 4);
  EXPECT_EQ(Run({"cancel", "j3"}).code, 7);
}

TEST_F(CommandsCli, DownloadFetchesToTheGivenPath) {
  AddJobs(1);
  FinishFakeJob(server_, "j1", "bytes of the mxq");
  EXPECT_EQ(Run({"download", "j1", "-o", dir_.File("x")}).code, 0);
  QB_ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(dir_.File("x")));
  EXPECT_EQ(bytes, "bytes of the mxq");
  EXPECT_EQ(Run({"download", "j1"}).code, 2);
  const RunResult other =
      Run({"download", "j1", "-o", dir_.File("y"), "--artifact", "report.json"});
  EXPECT_EQ(other.code, 7);
  EXPECT_THAT(other.err, HasSubstr("it has: model.mxq"));
}

TEST_F(CommandsCli, SubmitPrintsOnlyTheId) {
  const RunResult result = Run(
      {"submit", dir_.File("net.onnx"), "-t", "aries-rb", "--calib-data-path", dir_.File("calib")});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "job-1\n");
}

TEST_F(CommandsCli, LogsAndStatusAndVersion) {
  AddJobs(1);
  EXPECT_EQ(Run({"logs", "j1"}).out, "a line of the log\n");
  EXPECT_THAT(Run({"status"}).out, HasSubstr("9.9.9"));
  EXPECT_THAT(Run({"status"}).out, HasSubstr("none is connected"));
  EXPECT_THAT(Run({"version"}).out, HasSubstr("qbc "));
  EXPECT_EQ(Run({"--version"}).out, Run({"version"}).out);
}

TEST_F(CommandsCli, ServerAddressComesFromFlagThenEnvironmentThenRuntimeFolder) {
  Run({"status", "--server", "127.0.0.1:1"});
  EXPECT_EQ(address_, "127.0.0.1:1");
  variables_["QBC_SERVER"] = "unix:/a";
  Run({"status"});
  EXPECT_EQ(address_, "unix:/a");
  variables_["QBC_SERVER"] = "";
  variables_["XDG_RUNTIME_DIR"] = "/run/user/7";
  Run({"status"});
  EXPECT_EQ(address_, "unix:/run/user/7/qbc.sock");
}

TEST_F(CommandsCli, EveryCommandHasHelp) {
  const std::string overview = Run({"--help"}).out;
  for (const Command& command : AllCommands()) {
    const std::string name(command.name);
    EXPECT_THAT(overview, HasSubstr(name));
    if (command.run == nullptr) {
      const RunResult result = Run({name});
      EXPECT_EQ(result.code, 1);
      EXPECT_THAT(result.err, HasSubstr("not supported yet"));
      continue;
    }
    const RunResult help = Run({name, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("usage: qbc " + name));
    EXPECT_THAT(help.out, HasSubstr("--server ADDRESS"));
    EXPECT_THAT(help.out, HasSubstr("Exit codes: 0"));
    EXPECT_EQ(Run({"help", name}).out, help.out);
  }
}

TEST_F(CommandsCli, UnknownCommandsNameTheClosest) {
  const RunResult result = Run({"compil"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean compile?"));
  EXPECT_EQ(Run({}).code, 2);
}

TEST_F(CommandsCli, FlagsWorkInEveryForm) {
  AddJobs(3);
  EXPECT_EQ(Lines(Run({"jobs", "--limit=2", "--json"}).out)[0]["jobs"].items().size(), 2u);
  EXPECT_EQ(Lines(Run({"jobs", "-n2", "--json"}).out)[0]["jobs"].items().size(), 2u);
  EXPECT_EQ(Run({"jobs", "--limit"}).code, 2);
  EXPECT_EQ(Run({"jobs", "--json=yes"}).code, 2);
}

TEST_F(CommandsCli, TerminalGetsABarThatIsRemovedAtTheEnd) {
  environment_.err_is_terminal = true;
  environment_.columns = 40;
  SucceedEveryJob();
  const RunResult result = Compile();
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("\rcalibrate    ["));
  // Nothing that is redrawn is wider than the terminal, and the last drawing is wiped.
  size_t begin = 0;
  while ((begin = result.err.find('\r', begin)) != std::string::npos) {
    const size_t end = result.err.find("\x1b[K", begin);
    ASSERT_NE(end, std::string::npos);
    EXPECT_LE(end - begin - 1, 39u);
    begin = end;
  }
  EXPECT_EQ(result.err.substr(result.err.rfind('\r'), 4), "\r\x1b[K");
  EXPECT_THAT(result.err.substr(result.err.rfind("\x1b[K")), HasSubstr("succeeded in"));
}

TEST_F(CommandsCli, BarNeedsACapableTerminal) {
  environment_.err_is_terminal = true;
  EXPECT_EQ(*ChooseView(environment_, "", false), ViewKind::kBar);
  EXPECT_EQ(*ChooseView(environment_, "plain", false), ViewKind::kPlain);
  EXPECT_EQ(*ChooseView(environment_, "", true), ViewKind::kJson);
  EXPECT_EQ(*ChooseView(environment_, "none", false), ViewKind::kNone);
  variables_["CI"] = "true";
  EXPECT_EQ(*ChooseView(environment_, "", false), ViewKind::kPlain);
  variables_["CI"] = "";
  variables_["TERM"] = "dumb";
  EXPECT_EQ(*ChooseView(environment_, "", false), ViewKind::kPlain);
}

TEST_F(CommandsCli, ColorsOnlyWhereTheyAreWanted) {
  environment_.err_is_terminal = true;
  EXPECT_THAT(Run({"get", "none"}).err, HasSubstr("\x1b[31m"));
  variables_["NO_COLOR"] = "1";
  EXPECT_THAT(Run({"get", "none"}).err, Not(HasSubstr("\x1b[31m")));
  variables_["NO_COLOR"] = "";
  environment_.err_is_terminal = false;
  EXPECT_THAT(Run({"get", "none"}).err, Not(HasSubstr("\x1b")));
}

TEST(ExitCodes, TheFailureTableUsesThem) {
  for (const FailureRow& row : AllFailures()) {
    EXPECT_TRUE(row.qbc_exit == kExitOk || row.qbc_exit == kExitCompileFailed ||
                row.qbc_exit == kExitCancelled || row.qbc_exit == kExitInvalidInput ||
                row.qbc_exit == kExitInfrastructure)
        << row.name;
  }
}

}  // namespace
}  // namespace qb::client

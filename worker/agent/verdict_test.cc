#include "worker/agent/verdict.h"

#include <signal.h>

#include "core/base/testing/status_matchers.h"

namespace qb::worker {
namespace {

using ::testing::HasSubstr;

constexpr char kResult[] = R"({"type":"result","seq":1,"outputs":[]})";
constexpr char kError[] =
    R"({"type":"error","seq":1,"code":"MODEL_PARSE_ERROR","message":"/jobs/a/net.onnx: bad","details":{"line":"3"}})";

ExitReport Exited(int code) {
  ExitReport report;
  report.exit_code = code;
  return report;
}
ExitReport Signalled(int signal) {
  ExitReport report;
  report.kind = ExitReport::Kind::kSignalled;
  report.exit_code = -1;
  report.signal = signal;
  return report;
}

class VerdictTest : public ::testing::Test {
 protected:
  Verdict Decide(const ExitReport& exit, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      transcript_.OnStdout(line + "\n");
    }
    transcript_.Finish();
    return DecideVerdict(exit, transcript_, stop_);
  }
  Outbox outbox_;
  Transcript transcript_{outbox_, "/jobs/a"};
  StopSignal stop_;
};

TEST_F(VerdictTest, OneResultAndExitZeroIsSuccess) {
  EXPECT_EQ(Decide(Exited(0), {kResult}).outcome, v1::ATTEMPT_OUTCOME_SUCCEEDED);
}

TEST_F(VerdictTest, AnErrorKeepsItsCodeMessageAndDetails) {
  const Verdict verdict = Decide(Exited(1), {kError});
  EXPECT_EQ(verdict.outcome, v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(verdict.failure.reason(), v1::FAILURE_REASON_MODEL_PARSE_ERROR);
  EXPECT_EQ(verdict.failure.message(), "net.onnx: bad");
  EXPECT_EQ(verdict.failure.details().at("line"), "3");
}

TEST_F(VerdictTest, SilentExitIsACrashThatNamesTheCode) {
  const Verdict verdict = Decide(Exited(3), {R"({"type":"status","seq":1,"stage":"import"})"});
  EXPECT_EQ(verdict.failure.reason(), v1::FAILURE_REASON_COMPILER_CRASH);
  EXPECT_THAT(verdict.failure.message(), HasSubstr("exited with code 3"));
  EXPECT_THAT(verdict.failure.message(), HasSubstr("stage 'import'"));
  EXPECT_EQ(verdict.failure.details().at("exit_code"), "3");
}

TEST_F(VerdictTest, SilentExitZeroIsACrashToo) {
  EXPECT_EQ(Decide(Exited(0), {}).failure.reason(), v1::FAILURE_REASON_COMPILER_CRASH);
}

TEST_F(VerdictTest, TwoResultsAreACrash) {
  EXPECT_THAT(Decide(Exited(0), {kResult, kResult}).failure.message(), HasSubstr("2 results"));
}

TEST_F(VerdictTest, AResultWithANonZeroExitIsACrash) {
  EXPECT_EQ(Decide(Exited(1), {kResult}).failure.reason(), v1::FAILURE_REASON_COMPILER_CRASH);
}

TEST_F(VerdictTest, ASignalOfTheProcessItselfIsACrashThatNamesIt) {
  transcript_.OnStderr("first\nassertion failed\n");
  const Verdict verdict = Decide(Signalled(SIGSEGV), {});
  EXPECT_EQ(verdict.outcome, v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(verdict.failure.reason(), v1::FAILURE_REASON_COMPILER_CRASH);
  EXPECT_THAT(verdict.failure.message(), HasSubstr("Segmentation fault"));
  EXPECT_THAT(verdict.failure.message(), HasSubstr("assertion failed"));
  EXPECT_EQ(verdict.failure.details().at("signal"), "11");
}

TEST_F(VerdictTest, ASignalFromOutsideLosesTheAttempt) {
  const Verdict verdict = Decide(Signalled(SIGKILL), {});
  EXPECT_EQ(verdict.outcome, v1::ATTEMPT_OUTCOME_LOST);
  EXPECT_EQ(verdict.failure.reason(), v1::FAILURE_REASON_WORKER_LOST);
}

TEST_F(VerdictTest, AnInterruptThatNobodyAskedForLosesTheAttempt) {
  const Verdict verdict =
      Decide(Exited(130), {R"({"type":"error","seq":1,"code":"CANCELLED","message":"x"})"});
  EXPECT_EQ(verdict.outcome, v1::ATTEMPT_OUTCOME_LOST);
}

TEST_F(VerdictTest, ACancelIsACancelHoweverTheProcessEnded) {
  stop_.Request(StopReason::kCancelled);
  ExitReport report = Signalled(SIGKILL);
  report.kind = ExitReport::Kind::kKilledByUs;
  EXPECT_EQ(Decide(report, {}).outcome, v1::ATTEMPT_OUTCOME_CANCELLED);
}

TEST_F(VerdictTest, AResultThatCameBeforeTheCancelWins) {
  stop_.Request(StopReason::kCancelled);
  ExitReport report = Exited(0);
  report.kind = ExitReport::Kind::kKilledByUs;
  EXPECT_EQ(Decide(report, {kResult}).outcome, v1::ATTEMPT_OUTCOME_SUCCEEDED);
}

TEST_F(VerdictTest, AShutdownGivesTheAttemptBackUnlessItWasCancelled) {
  stop_.Request(StopReason::kShutdown);
  ExitReport report = Exited(130);
  report.kind = ExitReport::Kind::kKilledByUs;
  EXPECT_EQ(Decide(report, {}).outcome, v1::ATTEMPT_OUTCOME_RELEASED);
  stop_.Request(StopReason::kCancelled);
  EXPECT_EQ(Decide(report, {}).outcome, v1::ATTEMPT_OUTCOME_CANCELLED);
}

TEST_F(VerdictTest, AnAbandonedAttemptReportsNothing) {
  stop_.Request(StopReason::kAbandoned);
  EXPECT_EQ(Decide(Exited(0), {kResult}).outcome, v1::ATTEMPT_OUTCOME_UNSPECIFIED);
}

TEST_F(VerdictTest, TheTimeLimitIsNamed) {
  ExitReport report = Signalled(SIGTERM);
  report.kind = ExitReport::Kind::kTimedOut;
  EXPECT_EQ(Decide(report, {}).failure.reason(), v1::FAILURE_REASON_TIMEOUT);
}

TEST_F(VerdictTest, AnUnknownCodeIsOurDefect) {
  const Verdict verdict =
      Decide(Exited(1), {R"({"type":"error","seq":1,"code":"NEW","message":"m"})"});
  EXPECT_EQ(verdict.failure.reason(), v1::FAILURE_REASON_INTERNAL_ERROR);
  EXPECT_THAT(verdict.failure.message(), HasSubstr("'NEW'"));
}

TEST(Transcript, ToleratesGapsGarbageAndAPartialLine) {
  Outbox outbox;
  Transcript transcript(outbox, "/jobs/a");
  transcript.OnStdout("{\"type\":\"status\",\"seq\":1,\"stage\":\"import\"}\nnonsense /jobs/a/x\n");
  transcript.OnStdout("{\"type\":\"log\",\"seq\":7,\"level\":\"debug\",\"message\":\"d\"}\n");
  transcript.OnStdout("{\"type\":\"log\",\"seq\":8,\"level\":\"info\",\"mess");
  transcript.Finish();
  outbox.Close();
  std::string events;
  for (const v1::AttemptEvent& event : outbox.PeekEvents(100)) {
    events += event.ShortDebugString() + "\n";
  }
  EXPECT_THAT(events, HasSubstr("phase: \"import\""));
  EXPECT_THAT(events, HasSubstr("nonsense x"));
  EXPECT_THAT(events, HasSubstr("message 7 followed message 1"));
  EXPECT_THAT(events, HasSubstr("outside its protocol"));
  EXPECT_THAT(outbox.PeekLog(1000).second, HasSubstr("debug : d\n"));
  EXPECT_EQ(transcript.stage(), "import");
}

TEST(Transcript, NonsenseWithoutEndFillsNoHistory) {
  Outbox outbox;
  Transcript transcript(outbox, "");
  for (int i = 0; i < 10'000; ++i) {
    transcript.OnStdout("nonsense\n");
  }
  EXPECT_EQ(outbox.PeekEvents(100'000).size(), 20u);
}

}  // namespace
}  // namespace qb::worker

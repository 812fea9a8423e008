#include "worker/agent/attempt.h"

#include <filesystem>
#include <thread>

#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "worker/agent/agent.h"
#include "worker/agent/testing/fake_child_runner.h"
#include "worker/agent/testing/fake_worker_stub.h"

namespace qb::worker {
namespace {

using ::qb::testing::StatusIs;
using ::qb::testing::TempDir;
using testing::FakeChildRunner;
using testing::FakeWorkerStub;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SucceedWith;

class AttemptTest : public ::testing::Test {
 protected:
  v1::Assignment Assign(int64_t fence, const std::string& model = "the model") {
    v1::Assignment assignment;
    assignment.mutable_key()->set_execution_id(fence);
    assignment.mutable_key()->set_attempt(1);
    assignment.mutable_key()->set_fence(fence);
    *assignment.mutable_model()->add_entries() = stub_.AddBlob("net.onnx", model);
    assignment.mutable_model()->set_main("net.onnx");
    return assignment;
  }
  AttemptSettings Settings() {
    AttemptSettings settings;
    settings.work_dir = dir_.path();
    settings.compiler_binary = "/bin/compiler";
    settings.report_interval = absl::Milliseconds(1);
    return settings;
  }
  v1::CompleteAttemptRequest RunToCompletion(const v1::Assignment& assignment,
                                             FakeChildRunner::Behaviour behaviour) {
    FakeChildRunner runner(std::move(behaviour));
    Attempt attempt(assignment, Settings(), stub_, runner);
    attempt.Run();
    EXPECT_EQ(stub_.completions().size(), 1u);
    return stub_.completions().empty() ? v1::CompleteAttemptRequest() : stub_.completions()[0];
  }
  bool ScratchIsEmpty() {
    const std::string attempts = dir_.File("attempts");
    return !std::filesystem::exists(attempts) || std::filesystem::is_empty(attempts);
  }

  TempDir dir_;
  FakeWorkerStub stub_;
};

TEST_F(AttemptTest, StoresTheOutputAndReportsEveryEventBeforeTheOutcome) {
  const v1::CompleteAttemptRequest completion = RunToCompletion(
      Assign(7), [&](const ChildOptions& options, ChildOutput& output, StopSignal&) {
        EXPECT_EQ(*ReadFile(options.working_dir + "/model/net.onnx"), "the model");
        output.OnStderr("a line\n");
        return SucceedWith("result bytes", options, output);
      });
  EXPECT_EQ(completion.outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_EQ(completion.key().fence(), 7);
  ASSERT_EQ(completion.artifacts_size(), 1);
  EXPECT_EQ(completion.artifacts(0).name(), "model.mxq");
  EXPECT_EQ(stub_.Blob(completion.artifacts(0).sha256()), "result bytes");
  EXPECT_THAT(completion.result_json(), HasSubstr(R"("device":"cpu")"));
  EXPECT_THAT(completion.result_json(), ::testing::Not(HasSubstr(dir_.path())));
  EXPECT_EQ(stub_.log(), "a line\n");
  EXPECT_EQ(stub_.events().size(), 2u);  // fetch, upload
  EXPECT_TRUE(ScratchIsEmpty());
}

TEST_F(AttemptTest, KeepsTheProcessRunningWhileTheServerIsAway) {
  const v1::CompleteAttemptRequest completion = RunToCompletion(
      Assign(7), [&](const ChildOptions& options, ChildOutput& output, StopSignal& stop) {
        stub_.SetAway(true);
        for (int i = 1; i <= 100; ++i) {
          output.OnStdout(
              absl::StrCat(R"({"type":"status","seq":)", i, R"(,"stage":"s)", i, "\"}\n"));
        }
        EXPECT_FALSE(stop.requested());
        stub_.SetAway(false);
        return SucceedWith("x", options, output, 101);
      });
  EXPECT_EQ(completion.outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_EQ(stub_.events().size(), 102u);
}

TEST_F(AttemptTest, DropsAnAttemptThatIsStale) {
  FakeChildRunner runner([&](const ChildOptions&, ChildOutput& output, StopSignal& stop) {
    stub_.MakeStale(7);
    output.OnStdout("{\"type\":\"status\",\"seq\":1,\"stage\":\"s\"}\n");
    EXPECT_TRUE(stop.WaitUntilAbandoned(absl::Seconds(20)));
    return ExitReport();
  });
  Attempt attempt(Assign(7), Settings(), stub_, runner);
  attempt.Run();
  EXPECT_THAT(stub_.completions(), IsEmpty());
  EXPECT_TRUE(ScratchIsEmpty());
}

TEST_F(AttemptTest, ResumesBrokenTransfers) {
  stub_.BreakNextDownloadAfter(3);
  stub_.BreakNextUploadAfter(5);
  const v1::CompleteAttemptRequest completion =
      RunToCompletion(Assign(7), [](const ChildOptions& options, ChildOutput& output, StopSignal&) {
        EXPECT_EQ(*ReadFile(options.working_dir + "/model/net.onnx"), "the model");
        return SucceedWith("result bytes", options, output);
      });
  EXPECT_EQ(stub_.Blob(completion.artifacts(0).sha256()), "result bytes");
}

TEST_F(AttemptTest, NamesAnInputThatIsGoneOrChanged) {
  v1::Assignment assignment = Assign(7);
  assignment.mutable_model()->mutable_entries(0)->set_sha256(std::string(64, 'a'));
  const FakeChildRunner::Behaviour never = [](const ChildOptions&, ChildOutput&, StopSignal&) {
    ADD_FAILURE() << "the compiler ran without its input";
    return ExitReport();
  };
  const v1::CompleteAttemptRequest completion = RunToCompletion(assignment, never);
  EXPECT_EQ(completion.outcome(), v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(completion.failure().reason(), v1::FAILURE_REASON_INPUT_LOST);
}

TEST_F(AttemptTest, RefusesAManifestThatLeavesItsFolder) {
  v1::Assignment assignment = Assign(7);
  assignment.mutable_model()->mutable_entries(0)->set_path("../../../escaped");
  const v1::CompleteAttemptRequest completion = RunToCompletion(
      assignment, [](const ChildOptions&, ChildOutput&, StopSignal&) { return ExitReport(); });
  EXPECT_EQ(completion.failure().reason(), v1::FAILURE_REASON_ARGUMENT_ERROR);
  EXPECT_FALSE(std::filesystem::exists(dir_.File("escaped")));
}

TEST_F(AttemptTest, TrustsItsOwnDigestOnly) {
  const v1::CompleteAttemptRequest completion =
      RunToCompletion(Assign(7), [](const ChildOptions& options, ChildOutput& output, StopSignal&) {
        WriteFileAtomically(options.working_dir + "/out/model.mxq", "real").IgnoreError();
        output.OnStdout(absl::StrCat(
            R"({"type":"result","seq":1,"outputs":[{"path":"out/model.mxq","sha256":")",
            std::string(64, '0'), "\"}]}\n"));
        return ExitReport();
      });
  EXPECT_EQ(completion.outcome(), v1::ATTEMPT_OUTCOME_LOST);
  EXPECT_THAT(completion.failure().message(), HasSubstr("the file has"));
}

TEST_F(AttemptTest, FollowsNoLinkThatTheProcessLeft) {
  const v1::CompleteAttemptRequest completion =
      RunToCompletion(Assign(7), [](const ChildOptions& options, ChildOutput& output, StopSignal&) {
        std::filesystem::create_symlink("/etc/passwd", options.working_dir + "/out/model.mxq");
        output.OnStdout("{\"type\":\"result\",\"seq\":1,\"outputs\":[]}\n");
        return ExitReport();
      });
  EXPECT_EQ(completion.failure().reason(), v1::FAILURE_REASON_SANDBOX_VIOLATION);
}

TEST_F(AttemptTest, UploadsAgainWhatTheServerLost) {
  stub_.LoseArtifactsOnce();
  const v1::CompleteAttemptRequest completion =
      RunToCompletion(Assign(7), [](const ChildOptions& options, ChildOutput& output, StopSignal&) {
        return SucceedWith("result bytes", options, output);
      });
  EXPECT_EQ(completion.outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_EQ(stub_.Blob(completion.artifacts(0).sha256()), "result bytes");
}

class AgentTest : public AttemptTest {
 protected:
  AgentOptions Options(int slots) {
    AgentOptions options;
    options.worker_id = "w";
    options.epoch = "e";
    options.capabilities.set_slots(slots);
    options.attempt = Settings();
    options.attempt.kill_grace = absl::Seconds(1);
    return options;
  }
};

TEST_F(AgentTest, RunsWhatItIsOfferedInItsSlots) {
  FakeChildRunner runner([](const ChildOptions& options, ChildOutput& output, StopSignal&) {
    return SucceedWith("x", options, output);
  });
  for (int i = 1; i <= 10; ++i) {
    stub_.Offer(Assign(i));
  }
  Agent agent(Options(2), stub_, runner, Log());
  absl::Status status;
  std::thread thread([&] { status = agent.Run(); });
  EXPECT_TRUE(stub_.WaitForCompletions(10));
  agent.Shutdown();
  thread.join();
  QB_EXPECT_OK(status);
  EXPECT_EQ(stub_.completions().size(), 10u);
  EXPECT_TRUE(stub_.last_sync().draining());
  EXPECT_EQ(stub_.last_sync().held_size(), 0);
}

TEST_F(AgentTest, CancelsAndAbandonsWhatTheServerNames) {
  FakeChildRunner runner([&](const ChildOptions&, ChildOutput& output, StopSignal& stop) {
    output.OnStdout("{\"type\":\"status\",\"seq\":1,\"stage\":\"hanging\"}\n");
    while (!stop.requested()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    ExitReport report;
    report.kind = ExitReport::Kind::kKilledByUs;
    return report;
  });
  stub_.Offer(Assign(1));
  stub_.Offer(Assign(2));
  Agent agent(Options(2), stub_, runner, Log());
  std::thread thread([&] { agent.Run().IgnoreError(); });
  EXPECT_TRUE(stub_.WaitForEvent("hanging"));
  stub_.MakeStale(2);
  stub_.Cancel(1);
  EXPECT_TRUE(stub_.WaitForCompletions(1));
  agent.Shutdown();
  thread.join();
  ASSERT_EQ(stub_.completions().size(), 1u);
  EXPECT_EQ(stub_.completions()[0].key().fence(), 1);
  EXPECT_EQ(stub_.completions()[0].outcome(), v1::ATTEMPT_OUTCOME_CANCELLED);
}

TEST_F(AgentTest, ShutdownGivesRunningAttemptsBack) {
  FakeChildRunner runner([&](const ChildOptions&, ChildOutput& output, StopSignal& stop) {
    output.OnStdout("{\"type\":\"status\",\"seq\":1,\"stage\":\"hanging\"}\n");
    while (!stop.requested()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    ExitReport report;
    report.kind = ExitReport::Kind::kKilledByUs;
    report.exit_code = 130;
    return report;
  });
  stub_.Offer(Assign(1));
  Agent agent(Options(1), stub_, runner, Log());
  std::thread thread([&] { agent.Run().IgnoreError(); });
  EXPECT_TRUE(stub_.WaitForEvent("hanging"));
  agent.Shutdown();
  thread.join();
  ASSERT_EQ(stub_.completions().size(), 1u);
  EXPECT_EQ(stub_.completions()[0].outcome(), v1::ATTEMPT_OUTCOME_RELEASED);
}

TEST_F(AgentTest, ComesBackAfterTheServerWasAway) {
  FakeChildRunner runner([](const ChildOptions& options, ChildOutput& output, StopSignal&) {
    return SucceedWith("x", options, output);
  });
  stub_.SetAway(true);
  stub_.Offer(Assign(1));
  Agent agent(Options(1), stub_, runner, Log());
  std::thread thread([&] { agent.Run().IgnoreError(); });
  EXPECT_TRUE(stub_.WaitForSyncs(3));
  stub_.SetAway(false);
  EXPECT_TRUE(stub_.WaitForCompletions(1));
  agent.Shutdown();
  thread.join();
}

}  // namespace
}  // namespace qb::worker

#include <filesystem>

#include "client/cli/testing/cli_fixture.h"
#include "core/base/digest.h"

namespace qb::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class CompileCli : public CliFixture {
 protected:
  qbc::v1::JobSpec SubmittedSpec() {
    absl::MutexLock lock(&server_.mutex);
    EXPECT_EQ(server_.jobs.size(), 1u);
    return server_.jobs.front().spec();
  }
};

TEST_F(CompileCli, UploadsSubmitsFollowsAndDownloads) {
  SucceedEveryJob();
  const RunResult result = Compile();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, dir_.File("out.mxq") + "\n");
  EXPECT_THAT(result.err, HasSubstr("upload: 3 of 3 files"));
  EXPECT_THAT(result.err, HasSubstr("job job-1\n"));
  EXPECT_THAT(result.err, HasSubstr("  calibrate\n"));
  EXPECT_THAT(result.err, HasSubstr("succeeded in "));
  EXPECT_THAT(result.err, HasSubstr(Sha256Hex("the mxq")));
  QB_ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(dir_.File("out.mxq")));
  EXPECT_EQ(bytes, "the mxq");
  const qbc::v1::JobSpec spec = SubmittedSpec();
  EXPECT_EQ(spec.model().main(), "net.onnx");
  EXPECT_EQ(spec.target_device(), "aries-rb");
  ASSERT_EQ(spec.calibration_size(), 1);
  EXPECT_EQ(spec.calibration(0).entries(1).path(), "b.npy");
}

TEST_F(CompileCli, UploadsNothingTheSecondTime) {
  SucceedEveryJob();
  ASSERT_EQ(Compile().code, 0);
  const RunResult again = Compile();
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("the server has every file already"));
  absl::MutexLock lock(&server_.mutex);
  EXPECT_EQ(server_.calls["WriteBlob"], 3);
}

TEST_F(CompileCli, HandsSettingsToTheServerUnresolved) {
  SucceedEveryJob();
  QB_ASSERT_OK(WriteFileAtomically(dir_.File("c.yaml"), "calibration:\n  mode: 1\n"));
  ASSERT_EQ(Compile({"-c",
                     dir_.File("c.yaml"),
                     "-p",
                     "cnn",
                     "--inference-scheme",
                     "single",
                     "--no-cpu-offload",
                     "--use-random-calib",
                     "--input-shape",
                     "x:1x3x8x8",
                     "--threads",
                     "2",
                     "--device",
                     "cpu",
                     "--priority",
                     "-5",
                     "--label",
                     "a=b=c",
                     "--run-timeout",
                     "5m"})
                .code,
            0);
  const qbc::v1::JobSpec spec = SubmittedSpec();
  EXPECT_EQ(spec.config().file_text(), "calibration:\n  mode: 1\n");
  EXPECT_EQ(spec.config().preset(), "cnn");
  EXPECT_EQ(spec.config().overrides_json(),
            R"({"inference-scheme":"single","cpu-offload":false,"use-random-calib":true,)"
            R"("input-shape":["x:1x3x8x8"]})");
  EXPECT_EQ(spec.threads(), 2);
  EXPECT_EQ(spec.device(), "cpu");
  EXPECT_EQ(spec.priority(), -5);
  EXPECT_EQ(spec.labels().at("a"), "b=c");
  EXPECT_EQ(spec.run_timeout().seconds(), 300);
  EXPECT_FALSE(spec.has_queue_ttl());
}

TEST_F(CompileCli, WrongUsageEndsBeforeAnythingIsSent) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"compile"}, "no model is given"},
      {{"compile", "a", "b"}, "'b' is one too many"},
      {{"compile", dir_.File("net.onnx")}, "--target-device is missing"},
      {{"compile", dir_.File("net.onnx"), "-t", "x"}, "No calibration dataset is provided"},
      {{"compile", dir_.File("net.onnx"), "-t", "x"}, "--use-random-calib"},
      {{"compile", "--tarGet"}, "unknown flag --tarGet"},
      {{"compile", "m", "--threads", "many", "-t", "x", "--use-random-calib"}, "--threads: 'many'"},
      {{"compile", "m", "-t", "x", "--use-random-calib", "--timeout", "soon"}, "--timeout: 'soon'"},
      {{"compile", "m", "-t", "x", "--use-random-calib", "--label", "k"}, "KEY=VALUE"},
      {{"compile", "m", "-t", "x", "--use-random-calib", "-o", dir_.path()}, "is a folder"},
      {{"compile", "m", "-t", "x", "--use-random-calib", "-o", "/nowhere/x.mxq"}, "/nowhere"},
      {{"compile", "m", "-t", "x", "--progress", "loud"}, "accepted are auto, plain and none"},
  };
  for (const auto& [arguments, words] : cases) {
    const RunResult result = Run(arguments);
    EXPECT_EQ(result.code, 2) << words << result.err;
    EXPECT_THAT(result.err, StartsWith("ERROR [ARGUMENT_ERROR]: "));
    EXPECT_THAT(result.err, HasSubstr(words));
    EXPECT_THAT(result.out, IsEmpty());
  }
  absl::MutexLock lock(&server_.mutex);
  EXPECT_TRUE(server_.calls.empty());
}

TEST_F(CompileCli, MissingFilesAreInvalidInput) {
  const RunResult result = Run({"compile", dir_.File("none.onnx"), "-t", "x", "--use-random-calib",
                                "-o", dir_.File("out.mxq")});
  EXPECT_EQ(result.code, 10);
  EXPECT_THAT(result.err, HasSubstr("none.onnx"));
}

TEST_F(CompileCli, FailureOfTheJobDecidesTheExitCode) {
  FailEveryJob(qbc::v1::FAILURE_REASON_UNSUPPORTED_OPERATOR, "UNSUPPORTED_OPERATOR",
               "import: node 'x', operator Foo");
  const RunResult user = Compile();
  EXPECT_EQ(user.code, 3);
  EXPECT_THAT(user.err, HasSubstr("ERROR [UNSUPPORTED_OPERATOR]: import: node 'x', operator Foo"));
  EXPECT_THAT(user.err, HasSubstr("hint: "));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("out.mxq")));
  FailEveryJob(qbc::v1::FAILURE_REASON_WORKER_LOST, "WORKER_LOST", "gone");
  EXPECT_EQ(Compile().code, 11);
  FailEveryJob(static_cast<qbc::v1::FailureReason>(999), "FROM_THE_FUTURE", "new");
  const RunResult future = Compile();
  EXPECT_EQ(future.code, 11);
  EXPECT_THAT(future.err, HasSubstr("FROM_THE_FUTURE"));
}

TEST_F(CompileCli, RefusalOfTheServerNamesItsCode) {
  {
    absl::MutexLock lock(&server_.mutex);
    server_.failures["SubmitJob"] = {
        absl::InvalidArgumentError("TARGET_ERROR: target 'x' is unknown; accepted are aries-rb")};
  }
  const RunResult result = Compile();
  EXPECT_EQ(result.code, 10);
  EXPECT_THAT(result.err, HasSubstr("ERROR [TARGET_ERROR]: target 'x' is unknown"));
}

TEST_F(CompileCli, StatusCodesHaveTheirExitCodes) {
  const std::vector<std::pair<absl::Status, int>> cases = {
      {absl::ResourceExhaustedError("queue full"), 8}, {absl::UnauthenticatedError("who"), 6},
      {absl::PermissionDeniedError("no"), 6},          {absl::InternalError("bug"), 1},
      {absl::DeadlineExceededError("slow"), 9},
  };
  for (const auto& [status, code] : cases) {
    {
      absl::MutexLock lock(&server_.mutex);
      server_.failures["SubmitJob"] = {status};
    }
    EXPECT_EQ(Compile().code, code) << status;
  }
  {
    absl::MutexLock lock(&server_.mutex);
    server_.failures["FindMissingBlobs"].assign(100'000, absl::UnavailableError("refused"));
  }
  const RunResult away = Compile();
  EXPECT_EQ(away.code, 9);
  EXPECT_THAT(away.err, HasSubstr("is a server running at"));
}

TEST_F(CompileCli, UploadsAgainWhatWasClearedAwayMeanwhile) {
  SucceedEveryJob();
  {
    absl::MutexLock lock(&server_.mutex);
    server_.failures["SubmitJob"] = {absl::FailedPreconditionError("missing blob")};
  }
  EXPECT_EQ(Compile().code, 0);
}

TEST_F(CompileCli, JsonIsOneObjectALineAndTheAnswerIsLast) {
  SucceedEveryJob();
  const RunResult result = Compile({"--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, IsEmpty());
  const std::vector<Json> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 8u);  // seven events and the answer
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["type"].as_string(), "event");
    EXPECT_EQ(lines[i]["seq"].as_int(), static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(lines.back()["type"].as_string(), "job");
  EXPECT_EQ(lines.back()["job"]["state"].as_string(), "succeeded");
  EXPECT_EQ(lines.back()["output"]["sha256"].as_string(), Sha256Hex("the mxq"));
  EXPECT_EQ(lines.back()["job"]["result"]["type"].as_string(), "result");
}

TEST_F(CompileCli, JsonCarriesFailuresToo) {
  FailEveryJob(qbc::v1::FAILURE_REASON_MODEL_PARSE_ERROR, "MODEL_PARSE_ERROR", "truncated");
  const RunResult result = Compile({"--json"});
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(Lines(result.out).back()["job"]["failure"]["code"].as_string(), "MODEL_PARSE_ERROR");
  const RunResult usage = Run({"get", "none", "--json"});
  EXPECT_EQ(usage.code, 7);
  EXPECT_EQ(Lines(usage.out).back()["code"].as_string(), "NOT_FOUND");
  EXPECT_EQ(Lines(usage.out).back()["exit_code"].as_int(), 7);
}

TEST_F(CompileCli, HostileServerTextReachesTheTerminalEscaped) {
  FailEveryJob(qbc::v1::FAILURE_REASON_MODEL_PARSE_ERROR, "\x1b[31mNAME", "\x1b]0;owned\x07 bad\r");
  const RunResult result = Compile();
  EXPECT_THAT(result.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.err, Not(HasSubstr("\r")));
  EXPECT_THAT(result.err, HasSubstr("\\x1b]0;owned\\x07 bad"));
}

TEST_F(CompileCli, ArtifactNamesAreNeverPaths) {
  server_.on_submit = [this](const qbc::v1::Job& job) {
    qbc::v1::JobEvent event;
    qbc::v1::Artifact& artifact = *event.mutable_result()->add_artifacts();
    artifact.set_name("../../../evil.mxq");
    artifact.set_sha256(Sha256Hex("x"));
    artifact.set_size_bytes(1);
    {
      absl::MutexLock lock(&server_.mutex);
      server_.blobs[artifact.sha256()] = "x";
    }
    AddFakeEvent(server_, job.id(), event);
  };
  EXPECT_EQ(Compile().code, 0);
  EXPECT_TRUE(std::filesystem::exists(dir_.File("out.mxq")));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("net.onnx", "calib", "out.mxq"));
}

TEST_F(CompileCli, WrongBytesOfTheServerAreNotKept) {
  server_.on_submit = [this](const qbc::v1::Job& job) {
    FinishFakeJob(server_, job.id(), "the mxq");
    absl::MutexLock lock(&server_.mutex);
    server_.blobs[Sha256Hex("the mxq")] = "the mXq";
  };
  const RunResult result = Compile();
  EXPECT_EQ(result.code, 11);
  EXPECT_THAT(result.err, HasSubstr("ERROR [DATA_LOSS]"));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("out.mxq")));
}

TEST_F(CompileCli, TimeoutLeavesTheJobRunning) {
  const RunResult result = Compile({"--timeout", "50ms"});
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr("qbc watch job-1"));
  absl::MutexLock lock(&server_.mutex);
  EXPECT_EQ(server_.jobs.front().state(), qbc::v1::JOB_STATE_QUEUED);
}

TEST_F(CompileCli, OneInterruptDetaches) {
  server_.on_watch_idle = [this](const std::string&) { interruption_.Raise(); };
  const RunResult result = Compile();
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(result.err, HasSubstr("come back with: qbc watch job-1"));
  absl::MutexLock lock(&server_.mutex);
  EXPECT_EQ(server_.calls["CancelJob"], 0);
}

TEST_F(CompileCli, TwoInterruptsCancel) {
  server_.on_watch_idle = [this](const std::string&) {
    interruption_.Raise();
    interruption_.Raise();
  };
  const RunResult result = Compile();
  EXPECT_EQ(result.code, 4) << result.err;
  absl::MutexLock lock(&server_.mutex);
  EXPECT_EQ(server_.jobs.front().state(), qbc::v1::JOB_STATE_CANCELLED);
}

TEST_F(CompileCli, InterruptBeforeTheSubmitSubmitsNothing) {
  interruption_.Raise();
  EXPECT_EQ(Compile().code, 130);
  absl::MutexLock lock(&server_.mutex);
  EXPECT_TRUE(server_.jobs.empty());
}

TEST_F(CompileCli, LocalRunsTheCompilerWithTheSameFlags) {
  variables_["QBC_COMPILER"] = "/opt/qbcompiler";
  Run({"compile", "net.onnx", "--local", "-t", "aries-rb", "--calib-data-path", "a",
       "--calib-data-path", "b", "--no-cpu-offload", "--timeout", "3s", "-o", "x.mxq"});
  EXPECT_THAT(executed_,
              ElementsAre("/opt/qbcompiler", "compile", "--model", "net.onnx", "--output", "x.mxq",
                          "--target-device", "aries-rb", "--calib-data-path", "a",
                          "--calib-data-path", "b", "--no-cpu-offload"));
}

}  // namespace
}  // namespace qb::client

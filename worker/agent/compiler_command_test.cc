#include "worker/agent/compiler_command.h"

#include "absl/strings/str_join.h"

#include "core/base/testing/status_matchers.h"
#include "worker/agent/agent_flags.h"

namespace qb::worker {
namespace {

using ::qb::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Assignment Full() {
  v1::Assignment assignment;
  assignment.mutable_model()->add_entries()->set_path("net/a.onnx");
  assignment.mutable_model()->add_entries()->set_path("net/a.data");
  assignment.mutable_model()->set_main("net/a.onnx");
  assignment.add_calibration()->add_entries()->set_path("s0.npy");
  v1::Manifest* list = assignment.add_calibration();
  list->add_entries()->set_path("calib.json");
  list->set_main("calib.json");
  assignment.mutable_evaluation()->add_entries()->set_path("labels.csv");
  assignment.set_evaluation_labels("labels.csv");
  assignment.set_config_text("quantization: {}");
  assignment.add_compiler_flags("--target-device");
  assignment.add_compiler_flags("aries-rb");
  return assignment;
}

std::string CommandLine(const v1::Assignment& assignment) {
  absl::StatusOr<ChildOptions> options = BuildCommand(assignment, "/bin/qbc", "/w/7", 3);
  return options.ok() ? absl::StrJoin(options->argv, " ") : std::string(options.status().message());
}

TEST(BuildCommand, NamesEverythingRelativeToTheAttempt) {
  EXPECT_EQ(CommandLine(Full()),
            "/bin/qbc compile --model model/net/a.onnx --output out/model.mxq --report-dir "
            "out --calib-data-path calib/0 --calib-data-path calib/1/calib.json --compile-config "
            "config.yaml --eval-data "
            "eval --eval-labels eval/labels.csv --target-device aries-rb --threads 3");
}

TEST(BuildCommand, TakesTheJobsThreadsAndLeavesFlagsOfTheServerAlone) {
  v1::Assignment assignment = Full();
  assignment.set_threads(2);
  EXPECT_THAT(CommandLine(assignment), HasSubstr("--threads 2"));
  assignment.add_compiler_flags("--threads");
  assignment.add_compiler_flags("5");
  EXPECT_THAT(CommandLine(assignment), Not(HasSubstr("--threads 2")));
}

TEST(BuildCommand, KnowsTheKinds) {
  v1::Assignment assignment = Full();
  assignment.set_kind(v1::JOB_KIND_PARSE);
  EXPECT_THAT(CommandLine(assignment),
              HasSubstr("parse --model model/net/a.onnx --output out/model.mblt"));
  assignment.set_kind(v1::JOB_KIND_QUANTIZE);
  EXPECT_THAT(CommandLine(assignment), HasSubstr("quantize --mblt model/net/a.onnx"));
  assignment.set_kind(static_cast<v1::JobKind>(77));
  EXPECT_THAT(CommandLine(assignment), HasSubstr("kind 77"));
}

TEST(BuildCommand, ShowsTheProcessItsGpusAndNoOther) {
  QB_ASSERT_OK_AND_ASSIGN(const ChildOptions none, BuildCommand(Full(), "/bin/qbc", "/w/7", 3));
  EXPECT_THAT(none.env, ::testing::Contains("CUDA_VISIBLE_DEVICES="));
  QB_ASSERT_OK_AND_ASSIGN(const ChildOptions two,
                          BuildCommand(Full(), "/bin/qbc", "/w/7", 3, {"1", "3"}));
  EXPECT_THAT(two.env, ::testing::Contains("CUDA_VISIBLE_DEVICES=1,3"));
}

TEST(BuildCommand, SetsTheEnvironment) {
  QB_ASSERT_OK_AND_ASSIGN(const ChildOptions options, BuildCommand(Full(), "/bin/qbc", "/w/7", 3));
  EXPECT_THAT(options.env, Contains("QBCOMPILER_JSONL=1"));
  EXPECT_THAT(options.env, Contains("QBC_ATTEMPT_DIR=/w/7"));
  EXPECT_EQ(options.working_dir, "/w/7");
}

TEST(PlanInputs, PutsEachManifestInItsFolder) {
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<InputFile> files, PlanInputs(Full()));
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const InputFile& file : files) {
    paths.push_back(file.relative_path);
  }
  EXPECT_THAT(paths,
              ::testing::ElementsAre("model/net/a.onnx", "model/net/a.data", "calib/0/s0.npy",
                                     "calib/1/calib.json", "eval/labels.csv"));
}

TEST(PlanInputs, RefusesPathsThatLeaveTheFolderAndTwins) {
  v1::Assignment assignment = Full();
  assignment.mutable_calibration(0)->add_entries()->set_path("../../x");
  EXPECT_THAT(PlanInputs(assignment),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("../../x")));
  assignment = Full();
  assignment.mutable_model()->add_entries()->set_path("net/a.onnx");
  EXPECT_THAT(PlanInputs(assignment),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("twice")));
}

TEST(ParseAgentFlags, ReadsBothForms) {
  QB_ASSERT_OK_AND_ASSIGN(const AgentFlags flags,
                          ParseAgentFlags({"--server", "unix:/s", "--work-dir=/w", "--slots=4",
                                           "--threads-per-job", "2", "--kill-grace=500ms"}));
  EXPECT_EQ(flags.server, "unix:/s");
  EXPECT_EQ(flags.work_dir, "/w");
  EXPECT_EQ(flags.slots, 4);
  EXPECT_EQ(flags.threads_per_job, 2);
  EXPECT_EQ(flags.kill_grace, absl::Milliseconds(500));
}

TEST(ParseAgentFlags, NamesTheFlagThatIsWrong) {
  const auto parse = [](std::vector<const char*> more) {
    std::vector<const char*> all = {"--server=unix:/s", "--work-dir=/w"};
    all.insert(all.end(), more.begin(), more.end());
    return ParseAgentFlags(all).status();
  };
  QB_EXPECT_OK(parse({}));
  EXPECT_THAT(parse({"--slots=0"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--slots '0'")));
  EXPECT_THAT(parse({"--slots=x"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--slots")));
  EXPECT_THAT(parse({"--nope=1"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--nope")));
  EXPECT_THAT(parse({"--worker-id=a/b"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a/b")));
  EXPECT_THAT(parse({"--kill-grace=soon"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("soon")));
  EXPECT_THAT(parse({"--slots"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs a value")));
  EXPECT_THAT(ParseAgentFlags({}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--server")));
}

}  // namespace
}  // namespace qb::worker

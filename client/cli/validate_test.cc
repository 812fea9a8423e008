// Settings that are wrong, and where settings come from, as a person and a program see it.
#include "client/cli/testing/cli_fixture.h"
#include "client/cpp/violations.h"

namespace qb::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kResolved[] =
    R"({"config":{"debug":true},"settings":{"debug":{"value":true,"origin":"file x"},)"
    R"("calibration.mode":{"value":1,"origin":"default"}},"warnings":["the \u001b preset wins"]})";

class ValidateCli : public CliFixture {
 protected:
  void Refuse(int count) {
    absl::MutexLock lock(&server_.mutex);
    for (int i = 0; i < count; ++i) {
      auto* violation = server_.validation.add_violations();
      violation->set_field("calibration.m" + std::to_string(i));
      violation->set_description("unknown key; nearest: mode\x1b");
      violation->set_reason("CONFIG_ERROR");
    }
  }
  int Calls(const std::string& method) {
    absl::MutexLock lock(&server_.mutex);
    return server_.calls[method];
  }
};

TEST_F(ValidateCli, PrintsEveryViolation) {
  Refuse(40);
  const RunResult result = Run({"validate"});
  EXPECT_EQ(result.code, 10);
  EXPECT_THAT(result.out, HasSubstr("calibration.m0: unknown key; nearest: mode"));
  EXPECT_THAT(result.out, HasSubstr("calibration.m39: "));
  EXPECT_THAT(result.out, HasSubstr("[CONFIG_ERROR]\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  const std::vector<Json> lines = Lines(Run({"validate", "--json"}).out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["type"].as_string(), "validation");
  EXPECT_FALSE(lines[0]["valid"].as_bool());
  ASSERT_EQ(lines[0]["violations"].items().size(), 40u);
  EXPECT_EQ(lines[0]["violations"].items()[7]["field"].as_string(), "calibration.m7");
  EXPECT_EQ(lines[0]["violations"].items()[7]["code"].as_string(), "CONFIG_ERROR");
}

TEST_F(ValidateCli, GoodSettingsAreSaidToBe) {
  EXPECT_TRUE(WriteFileAtomically(dir_.File("s.yaml"), "debug: true").ok());
  {
    absl::MutexLock lock(&server_.mutex);
    server_.validation.set_resolved_config_json(kResolved);
  }
  const RunResult result = Run({"validate", "-c", dir_.File("s.yaml"), "--cpu-offload"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "valid\n");
  {
    absl::MutexLock lock(&server_.mutex);
    EXPECT_EQ(server_.validated.config().file_text(), "debug: true");
    EXPECT_EQ(server_.validated.config().overrides_json(), R"({"cpu-offload":true})");
    EXPECT_EQ(server_.validated.model().entries_size(), 0);
  }
  const RunResult table = Run({"validate", "--settings"});
  EXPECT_THAT(table.out, HasSubstr("debug             true  file x\n"));
  EXPECT_THAT(table.out, HasSubstr("calibration.mode  1     default\n"));
  EXPECT_THAT(table.out, HasSubstr("warning: "));
  EXPECT_THAT(table.out, Not(HasSubstr("\x1b")));
  const std::vector<Json> lines = Lines(Run({"validate", "--json"}).out);
  EXPECT_TRUE(lines[0]["valid"].as_bool());
  EXPECT_EQ(lines[0]["config"]["settings"]["debug"]["origin"].as_string(), "file x");
}

TEST_F(ValidateCli, TakesTheCommandLineOfSubmit) {
  const RunResult result = Run({"validate", dir_.File("net.onnx"), "-t", "aries-rb",
                                "--calib-data-path", dir_.File("calib"), "--threads", "2"});
  EXPECT_EQ(result.code, 0) << result.err;
  absl::MutexLock lock(&server_.mutex);
  EXPECT_EQ(server_.validated.model().main(), "net.onnx");
  EXPECT_EQ(server_.validated.calibration(0).entries_size(), 2);
  EXPECT_THAT(server_.blobs, IsEmpty());
  EXPECT_THAT(server_.jobs, IsEmpty());
}

TEST_F(ValidateCli, AFileThatIsNotThereIsInvalidInput) {
  EXPECT_EQ(Run({"validate", "-c", dir_.File("none.yaml")}).code, 10);
  EXPECT_EQ(Run({"validate", "--threads", "many"}).code, 2);
}

TEST_F(ValidateCli, NothingIsUploadedForAJobThatWouldBeRefused) {
  Refuse(3);
  const RunResult result = Compile();
  EXPECT_EQ(result.code, 10);
  EXPECT_THAT(result.err, HasSubstr("ERROR [CONFIG_ERROR]: calibration.m0: unknown key"));
  EXPECT_THAT(result.err, HasSubstr("calibration.m2: "));
  EXPECT_EQ(Calls("FindMissingBlobs"), 0);
  EXPECT_EQ(Calls("SubmitJob"), 0);
  const std::vector<Json> lines = Lines(Compile({"--json"}).out);
  EXPECT_EQ(lines.back()["type"].as_string(), "error");
  EXPECT_EQ(lines.back()["violations"].items().size(), 3u);
}

TEST_F(ValidateCli, AnOlderServerIsAskedBySubmittingOnly) {
  SucceedEveryJob();
  {
    absl::MutexLock lock(&server_.mutex);
    server_.failures["ValidateJob"] = {absl::UnimplementedError("no such method")};
  }
  EXPECT_EQ(Compile().code, 0);
}

TEST_F(ValidateCli, ARefusalOfSubmitJobShowsItsViolations) {
  qbc::v1::FieldViolation first, second;
  first.set_field("spec.threads");
  first.set_description("-1: expected 0 to 256");
  first.set_reason("ARGUMENT_ERROR");
  second.set_field("debug");
  second.set_description("1 is not accepted");
  second.set_reason("CONFIG_ERROR");
  const absl::Status status = ViolationsError({first, second});
  ASSERT_EQ(ViolationsOf(status).size(), 2u);
  EXPECT_EQ(ViolationsOf(status)[1].reason(), "CONFIG_ERROR");
  {
    absl::MutexLock lock(&server_.mutex);
    server_.failures["SubmitJob"] = {status};
  }
  const RunResult result = Compile();
  EXPECT_EQ(result.code, 10);
  EXPECT_THAT(result.err, HasSubstr("ERROR [ARGUMENT_ERROR]: spec.threads: -1: expected 0 to 256"));
  EXPECT_THAT(result.err, HasSubstr("debug: 1 is not accepted"));
}

TEST_F(ValidateCli, GetShowsSettingsOnRequest) {
  {
    absl::MutexLock lock(&server_.mutex);
    qbc::v1::Job& job = server_.jobs.emplace_back();
    job.set_id("j1");
    job.set_resolved_config_json(kResolved);
  }
  EXPECT_THAT(Run({"get", "j1"}).out, Not(HasSubstr("calibration.mode")));
  EXPECT_THAT(Run({"get", "j1", "--settings"}).out, HasSubstr("calibration.mode  1     default\n"));
}

TEST_F(ValidateCli, ConfigSavePathGetsTheResolvedSettings) {
  SucceedEveryJob();
  {
    absl::MutexLock lock(&server_.mutex);
    server_.validation.set_resolved_config_json(kResolved);
  }
  EXPECT_EQ(Compile({"--config-save-path", dir_.File("deep/saved.yaml")}).code, 0);
  EXPECT_EQ(*ReadFile(dir_.File("deep/saved.yaml")), "{\n  \"debug\": true\n}\n");
  QB_ASSERT_OK_AND_ASSIGN(const Json origins,
                          Json::Parse(*ReadFile(dir_.File("deep/saved.yaml.origins.json"))));
  EXPECT_EQ(origins["debug"].as_string(), "file x");
  EXPECT_EQ(origins["calibration.mode"].as_string(), "default");
  EXPECT_EQ(Run({"validate", "--config-save-path", dir_.File("checked.json")}).code, 0);
  EXPECT_EQ(*ReadFile(dir_.File("checked.json")), *ReadFile(dir_.File("deep/saved.yaml")));
  const int submitted = Calls("SubmitJob");
  const RunResult blocked =
      Compile({"--config-save-path", dir_.File("deep/saved.yaml/beneath-a-file")});
  EXPECT_EQ(blocked.code, 10);
  EXPECT_EQ(Calls("SubmitJob"), submitted);
}

TEST_F(ValidateCli, CompletionAsksNoServer) {
  const RunResult bash = Run({"completion", "bash"});
  EXPECT_EQ(bash.code, 0);
  for (const char* words : {"compile", "validate", "--no-cpu-offload", "--settings", "--server"}) {
    EXPECT_THAT(bash.out, HasSubstr(words));
  }
  EXPECT_EQ(Run({"completion"}).code, 2);
  const RunResult other = Run({"completion", "tcsh"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("bash, zsh, fish"));
}

}  // namespace
}  // namespace qb::client

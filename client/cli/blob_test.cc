// qbc blob and qbc retry, and the flags that say how the service treats work.
#include <filesystem>

#include "client/cli/testing/cli_fixture.h"
#include "core/base/digest.h"

namespace qb::client {
namespace {

using ::testing::HasSubstr;

class BlobCli : public CliFixture {
 protected:
  qbc::v1::Job LastJob() {
    absl::MutexLock lock(&server_.mutex);
    return server_.jobs.back();
  }
};

TEST_F(BlobCli, PutsChecksAndGetsFiles) {
  const std::string file = dir_.File("net.onnx");
  const std::string digest = Sha256Hex("model bytes");
  const RunResult before = Run({"blob", "check", file});
  EXPECT_EQ(before.code, 7);
  EXPECT_EQ(before.out, digest + "  missing  " + file + "\n");
  EXPECT_EQ(Run({"blob", "put", file, dir_.File("calib/a.npy")}).code, 0);
  EXPECT_EQ(Run({"blob", "check", file, digest}).code, 0);
  EXPECT_EQ(Run({"blob", "get", digest, "-o", dir_.File("back")}).code, 0);
  EXPECT_EQ(*ReadFile(dir_.File("back")), "model bytes");
  const std::vector<Json> lines = Lines(Run({"blob", "check", digest, "--json"}).out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["state"].as_string(), "stored");
}

TEST_F(BlobCli, WhatTheServerSendsMustBeWhatWasAskedFor) {
  const std::string digest = Sha256Hex("model bytes");
  {
    absl::MutexLock lock(&server_.mutex);
    server_.blobs[digest] = "other bytes";
  }
  const RunResult result = Run({"blob", "get", digest, "-o", dir_.File("back")});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("what was asked for has"));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("back")));
}

TEST_F(BlobCli, AnswersWrongWords) {
  EXPECT_EQ(Run({"blob"}).code, 2);
  EXPECT_EQ(Run({"blob", "put"}).code, 2);
  EXPECT_EQ(Run({"blob", "put", dir_.File("none")}).code, 10);
  EXPECT_EQ(Run({"blob", "get", "abc", "-o", "x"}).code, 2);
  EXPECT_EQ(Run({"blob", "get", Sha256Hex("x")}).code, 2);
  EXPECT_EQ(Run({"blob", "get", Sha256Hex("x"), "-o", dir_.File("x")}).code, 7);
}

TEST_F(BlobCli, FlagsSayHowTheWorkIsTreated) {
  SucceedEveryJob();
  ASSERT_EQ(Compile({"--cache", "bypass", "--cpus", "2", "--memory", "3G", "--gpus", "1",
                     "--scratch", "512M"})
                .code,
            0);
  const qbc::v1::JobSpec spec = LastJob().spec();
  EXPECT_EQ(spec.cache_policy(), qbc::v1::CACHE_POLICY_BYPASS);
  EXPECT_EQ(spec.resources().cpus(), 2);
  EXPECT_EQ(spec.resources().memory_bytes(), int64_t{3} << 30);
  EXPECT_EQ(spec.resources().gpus(), 1);
  EXPECT_EQ(spec.resources().scratch_bytes(), int64_t{512} << 20);
  ASSERT_EQ(Compile().code, 0);
  EXPECT_FALSE(LastJob().spec().has_resources());
  for (const auto& [flag, value] : {std::pair("--cache", "always"), std::pair("--memory", "8Q"),
                                    std::pair("--memory", "0"), std::pair("--cpus", "-1")}) {
    EXPECT_EQ(Compile({flag, value}).code, 2) << flag << value;
  }
}

TEST_F(BlobCli, SharedWorkIsTold) {
  SucceedEveryJob();
  ASSERT_EQ(Compile().code, 0);
  std::string id;
  {
    absl::MutexLock lock(&server_.mutex);
    server_.jobs.back().set_cache_hit(true);
    id = server_.jobs.back().id();
  }
  EXPECT_THAT(Run({"get", id}).out, HasSubstr("shared:         a stored result of the same work"));
  EXPECT_THAT(Run({"jobs"}).out, HasSubstr("stored result"));
  EXPECT_TRUE(Lines(Run({"get", id, "--json"}).out).at(0)["job"]["cache_hit"].as_bool());
  {
    absl::MutexLock lock(&server_.mutex);
    server_.jobs.back().set_cache_hit(false);
    server_.jobs.back().set_joined(true);
  }
  EXPECT_THAT(Run({"get", id}).out, HasSubstr("joined the same work of another job"));
}

TEST_F(BlobCli, RetrySubmitsTheSameAgain) {
  FailEveryJob(qbc::v1::FAILURE_REASON_MEMORY_LIMIT, "MEMORY_LIMIT", "too much");
  ASSERT_NE(Compile({"--priority", "7"}).code, 0);
  const qbc::v1::Job failed = LastJob();
  SucceedEveryJob();
  const RunResult retried = Run({"retry", failed.id(), "--memory", "16G", "--cache", "refresh"});
  EXPECT_EQ(retried.code, 0) << retried.err;
  const qbc::v1::Job again = LastJob();
  EXPECT_EQ(retried.out, again.id() + "\n");
  EXPECT_NE(again.id(), failed.id());
  EXPECT_EQ(again.spec().priority(), 7);
  EXPECT_EQ(again.spec().model().SerializeAsString(), failed.spec().model().SerializeAsString());
  EXPECT_EQ(again.spec().resources().memory_bytes(), int64_t{16} << 30);
  EXPECT_EQ(again.spec().cache_policy(), qbc::v1::CACHE_POLICY_REFRESH);
}

TEST_F(BlobCli, RetryLeavesAJobAloneThatGoesOn) {
  ASSERT_EQ(Run({"submit", dir_.File("net.onnx"), "-t", "aries-rb", "--calib-data-path",
                 dir_.File("calib")})
                .code,
            0);
  const RunResult result = Run({"retry", LastJob().id()});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("has not ended"));
  EXPECT_EQ(Run({"retry", "none"}).code, 7);
}

}  // namespace
}  // namespace qb::client

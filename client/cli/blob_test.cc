// qbc blob.
#include <filesystem>

#include "client/cli/testing/cli_fixture.h"
#include "core/base/digest.h"

namespace qb::client {
namespace {

using ::testing::HasSubstr;

using BlobCli = CliFixture;

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

}  // namespace
}  // namespace qb::client

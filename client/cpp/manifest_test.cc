#include "client/cpp/manifest.h"

#include <filesystem>

#include "core/base/atomic_file.h"
#include "core/base/digest.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb::client {
namespace {

using ::qb::testing::StatusIs;
using ::qb::testing::TempDir;
using ::testing::HasSubstr;

std::vector<std::string> PathsOf(const LocalManifest& manifest) {
  std::vector<std::string> paths;
  for (const qbc::v1::ManifestEntry& entry : manifest.manifest.entries()) {
    paths.push_back(entry.path());
  }
  return paths;
}

TEST(ManifestBuilder, ListsFoldersInTheOrderOfPathsWithDigestAndSize) {
  TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("b.npy"), "bb"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("a/x.npy"), ""));
  QB_ASSERT_OK(WriteFileAtomically(dir.File(".hidden"), "no"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File(".git/config"), "no"));
  std::filesystem::create_symlink("/etc", dir.File("link"));
  ManifestBuilder builder;
  QB_ASSERT_OK(builder.AddFolder("", dir.path()));
  QB_ASSERT_OK_AND_ASSIGN(const LocalManifest manifest, builder.Build(""));
  EXPECT_THAT(PathsOf(manifest), ::testing::ElementsAre("a/x.npy", "b.npy"));
  EXPECT_EQ(manifest.manifest.entries(1).sha256(), Sha256Hex("bb"));
  EXPECT_EQ(manifest.manifest.entries(1).size_bytes(), 2);
  EXPECT_EQ(manifest.manifest.entries(0).size_bytes(), 0);
  EXPECT_EQ(manifest.blobs[1].file, dir.File("b.npy"));
}

TEST(ManifestBuilder, RefusesPathsThatTheServerWouldRefuse) {
  ManifestBuilder builder;
  for (const std::string& path :
       std::vector<std::string>{"", "/abs", "a//b", "../x", "a/./b", "a\\b",
                                std::string("nul\0x", 5), std::string(256, 'n')}) {
    EXPECT_THAT(builder.AddContent(path, "x"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be sent")))
        << path;
  }
  std::string deep = "d";
  for (int i = 0; i < 16; ++i) {
    deep += "/d";
  }
  EXPECT_THAT(builder.AddContent(deep, "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("16 parts")));
  QB_EXPECT_OK(builder.AddContent("plain/name with space.npy", "x"));
}

TEST(ManifestBuilder, SendsAFileThatIsNamedTwiceOnce) {
  TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("a"), "1"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("b"), "2"));
  ManifestBuilder builder;
  QB_ASSERT_OK(builder.AddFile("x", dir.File("a")));
  QB_ASSERT_OK(builder.AddFile("x", dir.File("a")));
  QB_ASSERT_OK_AND_ASSIGN(const LocalManifest manifest, builder.Build("x"));
  EXPECT_EQ(manifest.manifest.entries_size(), 1);

  ManifestBuilder clash;
  QB_ASSERT_OK(clash.AddFile("x", dir.File("a")));
  QB_ASSERT_OK(clash.AddFile("x", dir.File("b")));
  EXPECT_THAT(clash.Build(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("stands for two files")));
}

TEST(ManifestBuilder, RefusesWhatIsNoRegularFile) {
  TempDir dir;
  ManifestBuilder builder;
  EXPECT_THAT(builder.AddFile("x", dir.File("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such file")));
  EXPECT_THAT(builder.AddFile("x", dir.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a regular file")));
}

}  // namespace
}  // namespace qb::client

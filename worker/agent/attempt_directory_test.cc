#include "worker/agent/attempt_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/atomic_file.h"
#include "core/base/digest.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb::worker {
namespace {

namespace fs = std::filesystem;
using ::qb::testing::StatusIs;
using ::qb::testing::TempDir;
using ::testing::HasSubstr;

TEST(CheckManifestPath, AcceptsPlainRelativePaths) {
  for (const char* path :
       {"net.onnx", "a/b/c.bin", "..a", "a..b/.c", "grün/モデル.onnx", "-x", " "}) {
    QB_EXPECT_OK(CheckManifestPath(path));
  }
}

TEST(CheckManifestPath, RefusesWhatCouldLeaveTheFolder) {
  const std::vector<std::string> bad = {"",
                                        "/etc/passwd",
                                        "..",
                                        "a/../b",
                                        "a/..",
                                        ".",
                                        "a/./b",
                                        "a//b",
                                        "a/",
                                        "a\\b",
                                        "a\nb",
                                        "\x7f",
                                        std::string("a\0b", 3),
                                        "\xff",
                                        std::string(256, 'x'),
                                        "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"};
  for (const std::string& path : bad) {
    EXPECT_THAT(CheckManifestPath(path),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("manifest path")))
        << path;
  }
}

TEST(AttemptDirectory, IsMadeEmptyAndRemoved) {
  TempDir dir;
  std::string path;
  {
    QB_ASSERT_OK_AND_ASSIGN(AttemptDirectory attempt, AttemptDirectory::Create(dir.path(), "7-1"));
    path = attempt.path();
    EXPECT_TRUE(fs::is_directory(attempt.File("out")));
    QB_ASSERT_OK(WriteFileAtomically(attempt.File("out/x"), "1"));
    // Folders without rights do not keep it from being removed.
    fs::create_directories(attempt.File("out/locked/inner"));
    fs::permissions(attempt.File("out/locked"), fs::perms::none);
  }
  EXPECT_FALSE(fs::exists(path));
}

class OutputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(dir_.File("out/sub"));
    QB_ASSERT_OK(WriteFileAtomically(dir_.File("out/model.mxq"), "content"));
    QB_ASSERT_OK(WriteFileAtomically(dir_.File("secret"), "secret"));
  }
  absl::Status Open(const std::string& name, int64_t max_bytes = 100) {
    return OutputFile::Open(dir_.File("out"), name, max_bytes).status();
  }
  TempDir dir_;
};

TEST_F(OutputFileTest, HashesAndReadsARegularFile) {
  QB_ASSERT_OK_AND_ASSIGN(const OutputFile file,
                          OutputFile::Open(dir_.File("out"), "model.mxq", 100));
  EXPECT_EQ(file.size_bytes(), 7);
  QB_ASSERT_OK_AND_ASSIGN(const std::string digest, file.Sha256());
  EXPECT_EQ(digest, Sha256Hex("content"));
  QB_ASSERT_OK_AND_ASSIGN(const std::string part, file.Read(3, 100));
  EXPECT_EQ(part, "tent");
}

TEST_F(OutputFileTest, RefusesLinksFoldersPipesAndWhatIsTooLarge) {
  fs::create_symlink(dir_.File("secret"), dir_.File("out/link"));
  fs::create_symlink("/etc", dir_.File("out/folder_link"));
  fs::create_hard_link(dir_.File("secret"), dir_.File("out/hard"));
  ASSERT_EQ(::mkfifo(dir_.File("out/pipe").c_str(), 0600), 0);
  for (const char* name : {"link", "folder_link/passwd", "hard", "pipe", "sub", "../secret"}) {
    EXPECT_THAT(Open(name), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name))) << name;
  }
  EXPECT_THAT(Open("missing"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing")));
  EXPECT_THAT(Open("model.mxq", 6),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 6")));
}

TEST(WorkDirectory, BelongsToOneAgentAndSweepsWhatWasLeft) {
  TempDir dir;
  fs::create_directories(dir.File("work/attempts/old/out"));
  {
    QB_ASSERT_OK_AND_ASSIGN(const WorkDirectory work, WorkDirectory::Open(dir.File("work")));
    EXPECT_FALSE(fs::exists(dir.File("work/attempts/old")));
    EXPECT_THAT(WorkDirectory::Open(dir.File("work")),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another agent")));
  }
  QB_EXPECT_OK(WorkDirectory::Open(dir.File("work")));
}

}  // namespace
}  // namespace qb::worker

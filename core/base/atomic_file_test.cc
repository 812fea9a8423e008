#include "core/base/atomic_file.h"

#include <filesystem>

#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb {
namespace {

int CountFiles(const std::string& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

TEST(AtomicFile, NothingIsLeftWithoutCommit) {
  testing::TempDir dir;
  {
    QB_ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(dir.File("out")));
    QB_ASSERT_OK(file.Append("half"));
    EXPECT_EQ(CountFiles(dir.path()), 1);
  }
  EXPECT_EQ(CountFiles(dir.path()), 0);
}

TEST(AtomicFile, CommitReplacesTheFileAndMakesFolders) {
  testing::TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("a/b/out"), "first"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("a/b/out"), "second"));
  QB_ASSERT_OK_AND_ASSIGN(std::string text, ReadFile(dir.File("a/b/out")));
  EXPECT_EQ(text, "second");
  EXPECT_EQ(CountFiles(dir.File("a/b")), 1);
}

TEST(AtomicFile, AFolderAsTargetIsAnError) {
  testing::TempDir dir;
  EXPECT_FALSE(WriteFileAtomically(dir.path(), "x").ok());
}

TEST(ReadFile, RefusesWhatIsTooLargeOrNotAFile) {
  testing::TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("x"), "12345"));
  EXPECT_EQ(ReadFile(dir.File("x"), 4).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadFile(dir.path()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace qb

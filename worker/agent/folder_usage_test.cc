#include "worker/agent/folder_usage.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/temp_dir.h"

namespace qb::worker {
namespace {

TEST(MeasureFolder, CountsBlocksAndNamesAndFollowsNoLinks) {
  qb::testing::TempDir folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("a"), std::string(100'000, 'x')).ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("b/c"), std::string(50'000, 'x')).ok());
  ASSERT_EQ(symlink("/usr", folder.File("b/link").c_str()), 0);
  const FolderUsage usage = MeasureFolder(folder.path(), 1000);
  EXPECT_EQ(usage.files, 4);
  EXPECT_GE(usage.bytes, 150'000);
  EXPECT_LT(usage.bytes, 250'000);
}

TEST(MeasureFolder, AHoleCostsNothing) {
  qb::testing::TempDir folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("hole"), "x").ok());
  ASSERT_EQ(truncate(folder.File("hole").c_str(), off_t{1} << 40), 0);
  EXPECT_LT(MeasureFolder(folder.path(), 1000).bytes, 1 << 20);
}

TEST(MeasureFolder, EndsEarlyAndSurvivesDepth) {
  qb::testing::TempDir folder;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(WriteFileAtomically(folder.File(absl::StrCat("f", i)), "").ok());
  }
  EXPECT_LE(MeasureFolder(folder.path(), 10).files, 11);
  std::string deep = folder.path();
  for (int i = 0; i < 200; ++i) {
    deep += "/d";
    ASSERT_EQ(mkdir(deep.c_str(), 0755), 0);
  }
  EXPECT_EQ(MeasureFolder(folder.path(), 10'000).files, 250);
  EXPECT_EQ(MeasureFolder("/nonexistent", 10).files, 0);
}

}  // namespace
}  // namespace qb::worker

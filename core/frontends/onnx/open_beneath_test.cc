#include "core/frontends/onnx/open_beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/base/testing/temp_dir.h"

namespace qb::onnx_import {
namespace {

// Both ways keep the same promise.
class OpenBeneathTest
    : public ::testing::TestWithParam<Descriptor (*)(int folder, const std::string& location)> {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(dir_.File("in/sub"));
    std::ofstream(dir_.File("in/sub/file")) << "inside";
    std::ofstream(dir_.File("secret")) << "outside";
    std::filesystem::create_symlink(dir_.File("secret"), dir_.File("in/link"));
    std::filesystem::create_symlink("file", dir_.File("in/sub/near"));
    std::filesystem::create_directory_symlink(dir_.path(), dir_.File("in/up"));
  }

  // The errno of opening, 0 when it worked.
  int Open(const std::string& location) {
    const Descriptor folder(::open(dir_.File("in").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    EXPECT_GE(folder.get(), 0);
    errno = 0;
    const Descriptor file = GetParam()(folder.get(), location);
    return file.get() >= 0 ? 0 : errno;
  }

  testing::TempDir dir_;
};

TEST_P(OpenBeneathTest, OpensFilesInSubfolders) {
  EXPECT_EQ(Open("sub/file"), 0);
  EXPECT_EQ(Open("./sub//file"), 0);
  EXPECT_EQ(Open("sub/absent"), ENOENT);
}

TEST_P(OpenBeneathTest, FollowsNoSymbolicLink) {
  EXPECT_EQ(Open("link"), ELOOP);
  EXPECT_EQ(Open("sub/near"), ELOOP);
  EXPECT_NE(Open("up/secret"), 0);
  EXPECT_NE(Open("up/in/sub/file"), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, OpenBeneathTest, ::testing::Values(&OpenBeneath, &OpenByComponents));

}  // namespace
}  // namespace qb::onnx_import

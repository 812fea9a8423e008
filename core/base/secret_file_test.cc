#include "core/base/secret_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

class SecretFile : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Read(const std::string& text, mode_t mode) {
    const std::string path = folder_.File("secret");
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return ReadSecretFile(path);
  }
  testing::TempDir folder_;
};

TEST_F(SecretFile, GivesTheTextWithoutItsLineEnd) {
  const absl::StatusOr<std::string> secret = Read("qbt_1\n", 0600);
  ASSERT_TRUE(secret.ok()) << secret.status();
  EXPECT_EQ(*secret, "qbt_1");
}

TEST_F(SecretFile, RefusesWhatOthersMayRead) {
  for (const mode_t mode : {0640, 0604, 0644}) {
    EXPECT_THAT(Read("s", mode),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chmod 600")));
  }
}

TEST_F(SecretFile, ErrorsDoNotShowTheText) {
  for (const char* text : {"", " \n", "top secret",
                           "s\303\251cret",  // an octal escape ends where the text goes on
                           "a\nb"}) {
    const absl::StatusOr<std::string> secret = Read(text, 0600);
    ASSERT_THAT(secret, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one line")))
        << text;
    EXPECT_EQ(secret.status().message().find("cret\""), absl::string_view::npos);
    EXPECT_EQ(secret.status().message().find("top"), absl::string_view::npos);
  }
}

}  // namespace
}  // namespace qb

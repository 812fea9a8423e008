#include "server/service/manifest_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "core/base/testing/status_matchers.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

qbc::v1::Manifest ManifestOf(const std::vector<std::string>& paths, const std::string& main = "") {
  qbc::v1::Manifest manifest;
  for (const std::string& path : paths) {
    auto* entry = manifest.add_entries();
    entry->set_path(path);
    entry->set_sha256(Sha256Hex(path));
    entry->set_size_bytes(1);
  }
  manifest.set_main(main);
  return manifest;
}

TEST(ManifestCheck, AcceptsOrdinaryPaths) {
  QB_EXPECT_OK(CheckManifest(
      "m", ManifestOf({"a", "b/c.npy", "b/d e", "b/..e", "\xc3\xa4/x", "-f"}, "b/c.npy"), {}));
  QB_EXPECT_OK(CheckManifest("m", ManifestOf({}), {}));
  std::string deep = "d";
  for (int i = 1; i < 16; ++i) {
    deep += "/d";
  }
  QB_EXPECT_OK(CheckManifest("m", ManifestOf({deep, std::string(255, 'x')}), {}));
}

TEST(ManifestCheck, RefusesPathsThatLeaveOrConfuse) {
  std::string too_deep = "d";
  for (int i = 1; i < 17; ++i) {
    too_deep += "/d";
  }
  for (const std::string& path :
       {std::string(""), std::string("/etc/passwd"), std::string(".."), std::string("a/../b"),
        std::string("a/.."), std::string("./a"), std::string("a//b"), std::string("a/"),
        std::string("a\\b"), std::string("a\0b", 3), std::string(256, 'x'), too_deep}) {
    EXPECT_EQ(CheckManifest("m", ManifestOf({path}), {}).code(), absl::StatusCode::kInvalidArgument)
        << path;
  }
}

TEST(ManifestCheck, RefusesPathsThatCollide) {
  EXPECT_THAT(CheckManifest("m", ManifestOf({"a", "a"}), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("twice")));
  EXPECT_THAT(CheckManifest("m", ManifestOf({"a/b/c", "a/b"}), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("also there as a file")));
  EXPECT_THAT(CheckManifest("m", ManifestOf({"a", "a/b"}), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("also there as a file")));
}

TEST(ManifestCheck, RefusesBadEntries) {
  EXPECT_THAT(CheckManifest("m", ManifestOf({"a"}, "b"), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("m.main")));
  qbc::v1::Manifest manifest = ManifestOf({"a"});
  manifest.mutable_entries(0)->set_sha256("ABC");
  EXPECT_FALSE(CheckManifest("m", manifest, {}).ok());
  manifest = ManifestOf({"a"});
  manifest.mutable_entries(0)->set_size_bytes(-1);
  EXPECT_FALSE(CheckManifest("m", manifest, {}).ok());
  ManifestLimits limits;
  limits.max_entries = 1;
  EXPECT_FALSE(CheckManifest("m", ManifestOf({"a", "b"}), limits).ok());
}

TEST(ManifestCheck, MessageEscapesWhatItQuotes) {
  EXPECT_THAT(CheckManifest("m", ManifestOf({"a\n\x1b[2J/.."}), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace qb::server

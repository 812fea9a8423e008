#include "server/quota/tenant_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ParseLimits, TenantStandsOnTheFilesDefaultAndThatOnTheServers) {
  TenantLimits defaults;
  defaults.max_queued_jobs = 7;
  const auto table = ParseLimits(
      R"({"default": {"submits_per_second": 0.5}, "tenants": {"a": {"max_running_jobs": 3}}})",
      defaults);
  QB_ASSERT_OK(table.status());
  EXPECT_EQ(table->fallback.max_queued_jobs, 7);
  EXPECT_EQ(table->fallback.submits_per_second, 0.5);
  EXPECT_EQ(table->fallback.max_running_jobs, 0);
  EXPECT_EQ(table->tenants.at("a").max_queued_jobs, 7);
  EXPECT_EQ(table->tenants.at("a").submits_per_second, 0.5);
  EXPECT_EQ(table->tenants.at("a").max_running_jobs, 3);
}

TEST(ParseLimits, ReadsEveryLimit) {
  const auto table = ParseLimits(
      R"({"default": {"max_queued_jobs": 1, "max_running_jobs": 2, "max_stored_bytes": 3,
          "max_parallel_uploads": 4, "max_open_streams": 5, "submits_per_second": 6,
          "submit_burst": 7, "upload_bytes_per_second": 8, "upload_burst_bytes": 9}})",
      TenantLimits());
  QB_ASSERT_OK(table.status());
  EXPECT_EQ(table->fallback, (TenantLimits{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(ParseLimits, SaysWhereAndWhatIsAccepted) {
  EXPECT_THAT(ParseLimits(R"({"tenants": {"a": {"max_jobs": 1}}})", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("tenants.a.max_jobs"), HasSubstr("max_queued_jobs"))));
  EXPECT_THAT(ParseLimits(R"({"default": {"max_queued_jobs": -1}})", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("default.max_queued_jobs")));
  EXPECT_THAT(ParseLimits(R"({"default": {"submits_per_second": "50"}})", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a number")));
  EXPECT_THAT(ParseLimits(R"({"tenant": {}})", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"tenants\"")));
  EXPECT_THAT(ParseLimits("[]", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("object")));
}

class LimitBookTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) {
    QB_ASSERT_OK(WriteFileAtomically(folder_.File("limits.json"), text));
  }

  qb::testing::TempDir folder_;
};

TEST_F(LimitBookTest, FollowsItsFile) {
  Write(R"({"tenants": {"a": {"max_queued_jobs": 1}}})");
  const auto book = LimitBook::Create(folder_.File("limits.json"), TenantLimits());
  QB_ASSERT_OK(book.status());
  EXPECT_EQ((*book)->For("a").max_queued_jobs, 1);
  EXPECT_EQ((*book)->For("b").max_queued_jobs, TenantLimits().max_queued_jobs);
  EXPECT_EQ(*(*book)->Refresh(), false);
  Write(R"({"tenants": {"a": {"max_queued_jobs": 22}}})");
  EXPECT_EQ(*(*book)->Refresh(), true);
  EXPECT_EQ((*book)->For("a").max_queued_jobs, 22);
}

TEST_F(LimitBookTest, KeepsWhatItKnowsWhenTheFileIsWrong) {
  Write(R"({"default": {"max_queued_jobs": 1}})");
  const auto book = LimitBook::Create(folder_.File("limits.json"), TenantLimits());
  QB_ASSERT_OK(book.status());
  Write(R"({"default": )");
  EXPECT_THAT((*book)->Refresh().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("limits.json")));
  EXPECT_EQ((*book)->For("a").max_queued_jobs, 1);
}

TEST_F(LimitBookTest, NamedFileMustBeThere) {
  EXPECT_THAT(LimitBook::Create(folder_.File("none.json"), TenantLimits()).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.json")));
}

}  // namespace
}  // namespace qb::server

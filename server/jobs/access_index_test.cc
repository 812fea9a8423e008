#include "server/jobs/access_index.h"

#include "absl/strings/str_cat.h"

#include "server/jobs/sqlite_access_index.h"
#include "server/testing/store_fixture.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AccessIndexTest : public testing::StoreFixture {
 protected:
  absl::StatusOr<std::vector<std::string>> Share(const std::string& job, const std::string& reader,
                                                 bool shared = true,
                                                 const std::string& owner = "default") {
    return SqliteAccessIndex(*database_).SetShare(owner, job, reader, shared, clock_.WallMs());
  }
  absl::StatusOr<std::string> Sharer(const std::string& reader, const std::string& job) {
    return SqliteAccessIndex(*database_).FindSharer(reader, job);
  }
  absl::StatusOr<std::string> BlobSharer(const std::string& reader, const std::string& bytes) {
    return SqliteAccessIndex(*database_).FindBlobSharer(reader, Sha256Hex(bytes));
  }
};

TEST_F(AccessIndexTest, SharesAndTakesBack) {
  const std::string job = Submit();
  EXPECT_THAT(*Share(job, "b"), ElementsAre("b"));
  EXPECT_THAT(*Share(job, "b"), ElementsAre("b"));
  EXPECT_THAT(*Share(job, "a"), ElementsAre("a", "b"));
  EXPECT_EQ(*Sharer("a", job), "default");
  EXPECT_THAT(*Share(job, "a", false), ElementsAre("b"));
  EXPECT_THAT(Sharer("a", job), StatusIs(absl::StatusCode::kNotFound, HasSubstr(job)));
  Reopen();
  EXPECT_EQ(*Sharer("b", job), "default");
}

TEST_F(AccessIndexTest, OnlyTheOwnerSharesAndNotWithItself) {
  const std::string job = Submit();
  EXPECT_THAT(Share(job, "c", true, "b"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no job")));
  QB_ASSERT_OK(Share(job, "b").status());
  EXPECT_THAT(Share(job, "c", true, "b"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no job")));
  EXPECT_THAT(Share(job, "default"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("own")));
}

TEST_F(AccessIndexTest, ReadersAreLimited) {
  const std::string job = Submit();
  for (int i = 0; i < 100; ++i) {
    QB_ASSERT_OK(Share(job, absl::StrCat("t", i)).status());
  }
  EXPECT_THAT(Share(job, "one-more"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("100")));
  EXPECT_FALSE(Sharer("one-more", job).ok());
}

TEST_F(AccessIndexTest, ABlobIsSharedThroughTheResultOfASharedJobAlone) {
  const std::string job = Submit();
  const std::string other = Submit();
  QB_ASSERT_OK(Share(job, "b").status());
  const std::vector<LeasedAttempt> leased = Lease(2);
  ASSERT_EQ(leased.size(), 2u);
  EXPECT_FALSE(BlobSharer("b", "result").ok());
  for (const LeasedAttempt& attempt : leased) {
    if (attempt.job_id == job) {
      QB_ASSERT_OK(
          store_->Complete(attempt.attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)).status());
    }
  }
  EXPECT_EQ(*BlobSharer("b", "result"), "default");
  EXPECT_FALSE(BlobSharer("c", "result").ok());
  EXPECT_FALSE(BlobSharer("b", "anything else").ok());
  QB_ASSERT_OK(Share(job, "b", false).status());
  EXPECT_FALSE(BlobSharer("b", "result").ok());
}

TEST_F(AccessIndexTest, TellsTheTenantOfALiveAttemptOnly) {
  Submit();
  const std::vector<LeasedAttempt> leased = Lease();
  ASSERT_EQ(leased.size(), 1u);
  SqliteAccessIndex access(*database_);
  AttemptKey key = leased[0].attempt.key;
  EXPECT_EQ(*access.TenantOfAttempt(key), "default");
  QB_ASSERT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)).status());
  EXPECT_THAT(access.TenantOfAttempt(key),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("STALE_ATTEMPT")));
}

}  // namespace
}  // namespace qb::server

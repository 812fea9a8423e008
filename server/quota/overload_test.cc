#include "server/quota/overload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/cord.h"

#include "core/base/testing/status_matchers.h"
#include "proto/google/rpc/error_details.pb.h"
#include "server/quota/refusal.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

class OverloadGuardTest : public ::testing::Test {
 protected:
  absl::Duration pool_;
  absl::Duration writer_;
  OverloadGuard guard_{{absl::Seconds(1)}, {[this] { return pool_; }, [this] { return writer_; }}};
};

TEST_F(OverloadGuardTest, AddsUpTheQueues) {
  pool_ = absl::Milliseconds(600);
  QB_EXPECT_OK(guard_.Check(absl::InfiniteDuration()));
  writer_ = absl::Milliseconds(300);
  QB_EXPECT_OK(guard_.Check(absl::InfiniteDuration()));
  writer_ = absl::Milliseconds(500);
  EXPECT_THAT(guard_.Check(absl::InfiniteDuration()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("OVERLOADED")));
}

TEST_F(OverloadGuardTest, SaysWhenToTryAgainAndNotEverybodyTheSame) {
  writer_ = absl::Seconds(10);
  google::rpc::RetryInfo first;
  google::rpc::RetryInfo second;
  for (google::rpc::RetryInfo* retry : {&first, &second}) {
    const auto payload = guard_.Check(absl::InfiniteDuration()).GetPayload(kRetryInfoPayload);
    ASSERT_TRUE(payload.has_value());
    ASSERT_TRUE(retry->ParseFromString(std::string(*payload)));
    EXPECT_GE(retry->retry_delay().seconds(), 10);
    EXPECT_LE(retry->retry_delay().seconds(), 15);
  }
  EXPECT_NE(first.SerializeAsString(), second.SerializeAsString());
}

TEST_F(OverloadGuardTest, RefusesWhatWouldComeAfterItsDeadline) {
  writer_ = absl::Milliseconds(200);
  EXPECT_THAT(guard_.Check(absl::Milliseconds(150)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("deadline")));
  QB_EXPECT_OK(guard_.Check(absl::Milliseconds(250)));
}

}  // namespace
}  // namespace qb::server

#include "server/quota/disk_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/testing/status_matchers.h"
#include "server/quota/refusal.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(DiskGuard, RefusesNewWorkBelowItsLimitUntilThereIsRoomAgain) {
  DiskSpace space{100, 1000};
  DiskGuard guard([&] { return space; }, 60);
  QB_EXPECT_OK(guard.CheckNewWork());
  QB_EXPECT_OK(guard.CheckNewWork(40));
  EXPECT_THAT(guard.CheckNewWork(41),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("DISK_LOW"), HasSubstr("100 bytes are free"))));
  space.free_bytes = 59;
  guard.Refresh();
  const absl::Status refused = guard.CheckNewWork();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("DISK_LOW")));
  EXPECT_TRUE(refused.GetPayload(kRetryInfoPayload).has_value());
  space.free_bytes = 60;
  guard.Refresh();
  QB_EXPECT_OK(guard.CheckNewWork());
}

TEST(DiskGuard, KeepsATenthAndAtMostFiveGib) {
  DiskSpace space{kGiB, 8 * kGiB};
  DiskGuard small([&] { return space; }, 0);
  QB_EXPECT_OK(small.CheckNewWork());
  space.free_bytes = 8 * kGiB / 10 - 1;
  small.Refresh();
  EXPECT_FALSE(small.CheckNewWork().ok());
  space = {5 * kGiB, 1000 * kGiB};
  DiskGuard large([&] { return space; }, 0);
  QB_EXPECT_OK(large.CheckNewWork());
  EXPECT_FALSE(large.CheckNewWork(1).ok());
}

TEST(DiskGuard, UnreadableDiskRefusesNothing) {
  DiskGuard guard([] { return ReadDiskSpace("/no/such/folder"); }, 0);
  QB_EXPECT_OK(guard.CheckNewWork());
}

}  // namespace
}  // namespace qb::server

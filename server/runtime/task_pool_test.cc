#include "server/runtime/task_pool.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace qb::server {
namespace {

TEST(TaskPool, RunsEverythingBeforeItEnds) {
  std::atomic<int> ran{0};
  {
    TaskPool pool(3, 1000);
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(pool.TrySchedule([&ran] { ++ran; }));
    }
  }
  EXPECT_EQ(ran, 500);
}

TEST(TaskPool, RefusesBeyondItsLimitButContinuesAdmittedWork) {
  absl::Notification release;
  absl::Notification started;
  std::atomic<int> ran{0};
  TaskPool pool(1, 1);
  ASSERT_TRUE(pool.TrySchedule([&] {
    started.Notify();
    release.WaitForNotification();
  }));
  started.WaitForNotification();
  EXPECT_TRUE(pool.TrySchedule([&ran] { ++ran; }));
  EXPECT_FALSE(pool.TrySchedule([&ran] { ran += 100; }));
  pool.Schedule([&ran] { ++ran; });
  release.Notify();
  pool.Shutdown();
  EXPECT_EQ(ran, 2);
}

TEST(TaskPool, RunsLateContinuationsInPlaceAfterShutdown) {
  TaskPool pool(1, 1);
  pool.Shutdown();
  bool ran = false;
  pool.Schedule([&ran] { ran = true; });
  EXPECT_TRUE(ran);
  EXPECT_FALSE(pool.TrySchedule([] {}));
}

TEST(TaskPool, TellsHowLongTheNextTaskHasWaited) {
  absl::Notification release;
  absl::Notification started;
  TaskPool pool(1, 10);
  EXPECT_EQ(pool.Delay(), absl::ZeroDuration());
  ASSERT_TRUE(pool.TrySchedule([&] {
    started.Notify();
    release.WaitForNotification();
  }));
  started.WaitForNotification();
  EXPECT_EQ(pool.Delay(), absl::ZeroDuration());  // it runs
  ASSERT_TRUE(pool.TrySchedule([] {}));
  const absl::Duration first = pool.Delay();
  EXPECT_GT(first, absl::ZeroDuration());
  EXPECT_GE(pool.Delay(), first);
  release.Notify();
  pool.Shutdown();
  EXPECT_EQ(pool.Delay(), absl::ZeroDuration());
}

TEST(TaskPool, ABurstIsSeenBeforeItsFirstTaskHasWaited) {
  absl::Notification measured;
  absl::Notification release;
  TaskPool pool(1, 1000);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(pool.TrySchedule([] { absl::SleepFor(absl::Milliseconds(2)); }));
  }
  ASSERT_TRUE(pool.TrySchedule([&] {
    measured.Notify();
    release.WaitForNotification();
  }));
  measured.WaitForNotification();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(pool.TrySchedule([] {}));
  }
  // A hundred times what each of the fifty took, less what the average has forgotten.
  EXPECT_GT(pool.Delay(), absl::Milliseconds(50));
  release.Notify();
  pool.Shutdown();
}

}  // namespace
}  // namespace qb::server

#include "server/quota/token_bucket.h"

#include <gtest/gtest.h>

namespace qb::server {
namespace {

TEST(TokenBucket, GivesABurstAndThenTheRate) {
  TokenBucket bucket(/*rate=*/10, /*burst=*/3, /*now_ms=*/0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(bucket.WaitMs(0), 0);
    bucket.Take(1, 0);
  }
  EXPECT_EQ(bucket.WaitMs(0), 100);
  EXPECT_EQ(bucket.WaitMs(40), 60);
  EXPECT_EQ(bucket.WaitMs(100), 0);
  bucket.Take(1, 100);
  EXPECT_EQ(bucket.WaitMs(100), 100);
}

TEST(TokenBucket, HoldsNoMoreThanTheBurst) {
  TokenBucket bucket(10, 2, 0);
  int taken = 0;
  while (bucket.WaitMs(3'600'000) == 0) {
    bucket.Take(1, 3'600'000);
    ++taken;
  }
  EXPECT_EQ(taken, 2);
}

TEST(TokenBucket, LargePieceIsWaitedForAfterwards) {
  TokenBucket bucket(1000, 1000, 0);
  bucket.Take(5000, 0);
  EXPECT_EQ(bucket.WaitMs(0), 4001);
  EXPECT_EQ(bucket.WaitMs(4001), 0);
}

TEST(TokenBucket, KeepsWhatItHoldsUnderNewLimits) {
  TokenBucket bucket(1, 100, 0);
  bucket.Take(98, 0);
  bucket.SetLimits(1, 1000, 0);
  bucket.Take(2, 0);
  EXPECT_EQ(bucket.WaitMs(0), 1000);
  bucket.SetLimits(100, 1, 0);
  EXPECT_EQ(bucket.WaitMs(0), 10);
}

TEST(TokenBucket, ClockThatGoesBackTakesNothing) {
  TokenBucket bucket(10, 1, 1000);
  bucket.Take(1, 1000);
  EXPECT_EQ(bucket.WaitMs(900), 100);
}

}  // namespace
}  // namespace qb::server

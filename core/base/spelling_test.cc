#include "core/base/spelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string>& Words() {
  static const auto* const words =
      new std::vector<std::string>{"--output", "--model", "--mblt", "--target-device"};
  return *words;
}

TEST(NearestWords, AreByDistanceThenInOrder) {
  EXPECT_THAT(NearestWords("--modle", Words(), 2), ElementsAre("--model", "--mblt"));
  EXPECT_THAT(NearestWords("--MODEL", Words(), 1), ElementsAre("--model"));
  EXPECT_THAT(NearestWords("x", {}, 3), IsEmpty());
  EXPECT_THAT(NearestWords(std::string(100000, 'a'), Words(), 9).size(), 4u);
}

TEST(SimilarWords, LeavesOutWhatIsFarAway) {
  EXPECT_THAT(SimilarWords("--outptu", Words()), ElementsAre("--output"));
  EXPECT_THAT(SimilarWords("--frobnicate", Words()), IsEmpty());
}

TEST(SimilarWords, ABeginningIsMeantAsTheWord) {
  EXPECT_THAT(SimilarWords("--targ", Words()), ElementsAre("--target-device"));
}

}  // namespace
}  // namespace qb

#include "core/quantization/layer_selection.h"

#include <gtest/gtest.h>

namespace qb {
namespace {

TEST(MatchesLayer, NeverMatchesSubstrings) {
  EXPECT_TRUE(MatchesLayer("conv1", "conv1"));
  EXPECT_FALSE(MatchesLayer("conv1", "conv10"));
  EXPECT_FALSE(MatchesLayer("conv1", "a/conv1"));
  EXPECT_FALSE(MatchesLayer("", "conv1"));
}

TEST(MatchesLayer, KnowsStarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesLayer("conv*", "conv10"));
  EXPECT_TRUE(MatchesLayer("*", "anything"));
  EXPECT_TRUE(MatchesLayer("*/conv?", "block/a/conv2"));
  EXPECT_TRUE(MatchesLayer("a*b*c", "aXbXbXc"));
  EXPECT_FALSE(MatchesLayer("a*b*c", "aXbXbX"));
  EXPECT_FALSE(MatchesLayer("conv?", "conv"));
  EXPECT_TRUE(MatchesLayer("conv**", "conv"));
}

}  // namespace
}  // namespace qb

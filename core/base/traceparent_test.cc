#include "core/base/traceparent.h"

#include <gtest/gtest.h>

#include <string>

namespace qb {
namespace {

// The examples of the W3C recommendation, section 3.2.
TEST(Traceparent, TakesTheExamplesOfTheRecommendation) {
  EXPECT_TRUE(IsTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  EXPECT_TRUE(IsTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"));
  EXPECT_TRUE(IsTraceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later"));
}

TEST(Traceparent, RefusesEverythingElse) {
  const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  for (const std::string& bad :
       {std::string(), good.substr(1), good + "-more", good + "x",
        std::string("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
        std::string("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
        std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"),
        std::string("00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01"),
        std::string("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-a\nb"),
        "cc" + good.substr(2) + "-" + std::string(600, 'a')}) {
    EXPECT_FALSE(IsTraceparent(bad)) << bad;
  }
}

}  // namespace
}  // namespace qb

#include "server/http/sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/testing/fake_clock.h"

namespace qb::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Caller CallerOf(std::string tenant) {
  Caller caller;
  caller.tenant = std::move(tenant);
  caller.credential = "0123456789abcdef";
  return caller;
}

HttpRequest Asked(std::string cookie = "", std::string host = "127.0.0.1:8080") {
  HttpRequest request;
  request.host = std::move(host);
  request.cookie = std::move(cookie);
  return request;
}

// What a browser sends back of a Set-Cookie header.
std::string Kept(const std::string& set_cookie) {
  return set_cookie.substr(0, set_cookie.find(';'));
}

TEST(Sessions, ABrowserThatSignedInIsKnown) {
  testing::FakeClock clock;
  Sessions sessions(clock);
  const std::string header = sessions.Open(Asked(), CallerOf("a"));
  EXPECT_THAT(header, AllOf(StartsWith("qbc-session-8080="), HasSubstr("; HttpOnly"),
                            HasSubstr("; SameSite=Strict"), HasSubstr("; Path=/api/v1"),
                            Not(HasSubstr("Max-Age")), Not(HasSubstr("0123456789abcdef;"))));
  const auto found = sessions.Find(Asked(absl::StrCat("theme=dark; ", Kept(header), "; x=y")));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->tenant, "a");
}

TEST(Sessions, NoOtherCookieCounts) {
  testing::FakeClock clock;
  Sessions sessions(clock);
  const std::string cookie = Kept(sessions.Open(Asked(), CallerOf("a")));
  for (const std::string& other :
       {std::string(), std::string("qbc-session-8080="), cookie.substr(0, cookie.size() - 1),
        absl::StrCat(cookie, "0"), absl::StrCat("x", cookie), std::string("=;;=")}) {
    EXPECT_FALSE(sessions.Find(Asked(other)).has_value()) << other;
  }
  // A server on another port has a cookie of its own.
  EXPECT_FALSE(sessions.Find(Asked(cookie, "127.0.0.1:8081")).has_value());
}

TEST(Sessions, OnlyPagesOfTheServerUseIt) {
  testing::FakeClock clock;
  Sessions sessions(clock);
  HttpRequest request = Asked(Kept(sessions.Open(Asked(), CallerOf("a"))));
  for (const char* site : {"", "same-origin", "none"}) {
    request.fetch_site = site;
    EXPECT_TRUE(sessions.Find(request).has_value()) << site;
  }
  for (const char* site : {"same-site", "cross-site", "new-word"}) {
    request.fetch_site = site;
    EXPECT_FALSE(sessions.Find(request).has_value()) << site;
  }
}

TEST(Sessions, EndWhenTheyAreClosedReplacedOrOld) {
  testing::FakeClock clock;
  Sessions sessions(clock, {.lifetime_ms = 1000, .most = 8});
  const HttpRequest first = Asked(Kept(sessions.Open(Asked(), CallerOf("a"))));
  const HttpRequest second = Asked(Kept(sessions.Open(first, CallerOf("b"))));
  EXPECT_FALSE(sessions.Find(first).has_value());
  EXPECT_THAT(sessions.Close(second), HasSubstr("Max-Age=0"));
  EXPECT_FALSE(sessions.Find(second).has_value());
  const HttpRequest third = Asked(Kept(sessions.Open(Asked(), CallerOf("c"))));
  clock.AdvanceMs(999);
  EXPECT_TRUE(sessions.Find(third).has_value());
  clock.AdvanceMs(1);
  EXPECT_FALSE(sessions.Find(third).has_value());
}

TEST(Sessions, OneTooManyEndsTheOldest) {
  testing::FakeClock clock;
  Sessions sessions(clock, {.lifetime_ms = 1'000'000, .most = 2});
  const HttpRequest first = Asked(Kept(sessions.Open(Asked(), CallerOf("a"))));
  clock.AdvanceMs(1);
  const HttpRequest second = Asked(Kept(sessions.Open(Asked(), CallerOf("b"))));
  clock.AdvanceMs(1);
  const HttpRequest third = Asked(Kept(sessions.Open(Asked(), CallerOf("c"))));
  EXPECT_FALSE(sessions.Find(first).has_value());
  EXPECT_TRUE(sessions.Find(second).has_value());
  EXPECT_TRUE(sessions.Find(third).has_value());
}

}  // namespace
}  // namespace qb::server

#include "server/rpc/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/testing/status_matchers.h"

namespace qb::server {
namespace {

TEST(ListenAddress, TakesUnixSocketsAndLoopback) {
  QB_ASSERT_OK_AND_ASSIGN(ListenAddress address, ParseListenAddress("--listen", "unix:/tmp/x"));
  EXPECT_EQ(address.unix_path, "/tmp/x");
  EXPECT_EQ(address.ToGrpc(), "unix:/tmp/x");
  QB_ASSERT_OK_AND_ASSIGN(address, ParseListenAddress("--listen", "unix:///tmp/x"));
  EXPECT_EQ(address.unix_path, "/tmp/x");
  QB_ASSERT_OK_AND_ASSIGN(address, ParseListenAddress("--listen", "localhost:0"));
  EXPECT_EQ(address.ToGrpc(), "127.0.0.1:0");
  QB_ASSERT_OK_AND_ASSIGN(address, ParseListenAddress("--listen", "[::1]:65535"));
  EXPECT_EQ(address.ToGrpc(), "[::1]:65535");
}

TEST(ListenAddress, KnowsWhichHostsOthersCanReach) {
  for (const char* text :
       {"0.0.0.0:80", "[::]:80", "192.168.0.1:80", "example.com:80", "127.0.0.1.example.com:80"}) {
    QB_ASSERT_OK_AND_ASSIGN(const ListenAddress address, ParseListenAddress("--listen", text));
    EXPECT_FALSE(address.loopback) << text;
  }
  for (const char* text : {"127.0.0.1:80", "localhost:80", "[::1]:80"}) {
    QB_ASSERT_OK_AND_ASSIGN(const ListenAddress address, ParseListenAddress("--listen", text));
    EXPECT_TRUE(address.loopback) << text;
  }
}

TEST(ListenAddress, RefusesNonsense) {
  for (const std::string& text :
       {std::string(""), std::string("127.0.0.1"), std::string("127.0.0.1:"), std::string(":80"),
        std::string("::1:80"), std::string("127.0.0.1:65536"), std::string("127.0.0.1:-1"),
        std::string("unix:"), std::string("unix:relative"), "unix:/" + std::string(107, 'x')}) {
    EXPECT_EQ(ParseListenAddress("--listen", text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace qb::server

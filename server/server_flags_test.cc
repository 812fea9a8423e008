#include "server/server_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/testing/status_matchers.h"

namespace qb::server {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<ServerFlags> Parse(const std::vector<std::string>& arguments) {
  return ParseServerFlags(arguments, "/opt/qbc/bin");
}

TEST(ServerFlags, HasDefaults) {
  QB_ASSERT_OK_AND_ASSIGN(const ServerFlags flags, Parse({"--data-dir", "/data/x/"}));
  EXPECT_EQ(flags.server.listen, "unix:/data/x/qbc.sock");
  EXPECT_EQ(flags.worker_binary, "/opt/qbc/bin/qbc-worker");
  EXPECT_EQ(flags.compiler_binary, "/opt/qbc/bin/qbcompiler");
  EXPECT_EQ(flags.local_workers, 0);
  EXPECT_EQ(flags.server.dispatch.lease_ttl_ms, 30'000);
  EXPECT_EQ(flags.server.targets, BuiltInTargets());
}

TEST(ServerFlags, TakesEveryFlag) {
  QB_ASSERT_OK_AND_ASSIGN(
      const ServerFlags flags,
      Parse({"--data-dir=/d", "--listen=127.0.0.1:0", "--local-workers=3", "--lease-ttl=1500ms",
             "--cancel-grace=2m", "--retry-base=50ms", "--max-losses=9", "--max-queued-jobs=7",
             "--targets=a,b", "--worker-binary=/w", "--compiler-binary=/c", "--port-file=/p"}));
  EXPECT_EQ(flags.server.listen, "127.0.0.1:0");
  EXPECT_EQ(flags.local_workers, 3);
  EXPECT_EQ(flags.server.dispatch.lease_ttl_ms, 1500);
  EXPECT_EQ(flags.server.dispatch.cancel_grace_ms, 120'000);
  EXPECT_EQ(flags.server.store.retry.base_wait_ms, 50);
  EXPECT_EQ(flags.server.store.retry.max_losses, 9);
  EXPECT_EQ(flags.server.tenant_limits.max_queued_jobs, 7);
  EXPECT_THAT(flags.server.targets, ::testing::ElementsAre("a", "b"));
  EXPECT_EQ(flags.worker_binary, "/w");
  EXPECT_EQ(flags.compiler_binary, "/c");
  EXPECT_EQ(flags.port_file, "/p");
}

TEST(ServerFlags, RefusesWithTheNameOfTheFlag) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "--data-dir"},
      {{"--data-dir=/d", "stray"}, "stray"},
      {{"--data-dir=/d", "--local-workers=-1"}, "local-workers"},
      {{"--data-dir=/d", "--lease-ttl=1ms"}, "lease-ttl"},
      {{"--data-dir=/d", "--lease-ttl=soon"}, "lease-ttl"},
      {{"--data-dir=/d", "--targets=,"}, "--targets"},
      {{"--data-dir=/d", "--nonsense"}, "nonsense"},
  };
  for (const auto& [arguments, name] : cases) {
    const auto flags = Parse(arguments);
    EXPECT_EQ(flags.status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(flags.status().message()), HasSubstr(name));
  }
}

TEST(ServerFlags, TellsAllMistakesAtOnce) {
  const auto flags = Parse({"--lease-ttl=soon", "--max-losses=-1", "--targets=,",
                            "--http-port-file=/p", "--auth=perhaps", "--log-format=xml"});
  for (const char* name : {"--data-dir", "lease-ttl", "max-losses", "--targets", "--http-port-file",
                           "--auth", "--log-format"}) {
    EXPECT_THAT(std::string(flags.status().message()), HasSubstr(name));
  }
}

TEST(ServerFlags, DrainsLongerWhereLoadIsBalanced) {
  EXPECT_EQ(Parse({"--data-dir=/d"})->drain_delay, absl::ZeroDuration());
  EXPECT_EQ(Parse({"--data-dir=/d", "--listen=127.0.0.1:1"})->drain_delay, absl::ZeroDuration());
  EXPECT_EQ(
      Parse({"--data-dir=/d", "--listen=0.0.0.0:1", "--tls-cert=c", "--tls-key=k"})->drain_delay,
      absl::Seconds(5));
  EXPECT_EQ(Parse({"--data-dir=/d", "--drain-delay=3s"})->drain_delay, absl::Seconds(3));
  EXPECT_EQ(Parse({"--data-dir=/d", "--listen=0.0.0.0:1", "--drain-delay=0"})->drain_delay,
            absl::ZeroDuration());
  EXPECT_FALSE(Parse({"--data-dir=/d", "--drain-delay=1h"}).ok());
}

TEST(ServerFlags, HelpNeedsNothingElse) {
  QB_ASSERT_OK_AND_ASSIGN(const ServerFlags flags, Parse({"--help"}));
  EXPECT_TRUE(flags.help);
  EXPECT_THAT(ServerUsage(), HasSubstr("--lease-ttl"));
}

}  // namespace
}  // namespace qb::server

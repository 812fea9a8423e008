// The flags that say how the service treats work, and what is told of it.
#include "client/cli/testing/cli_fixture.h"

namespace qb::client {
namespace {

using ::testing::HasSubstr;

using WorkFlagsCli = CliFixture;

TEST_F(WorkFlagsCli, FlagsSayHowTheWorkIsTreated) {
  SucceedEveryJob();
  ASSERT_EQ(Compile({"--cache", "bypass", "--cpus", "2", "--memory", "3G", "--gpus", "1",
                     "--scratch", "512M"})
                .code,
            0);
  const qbc::v1::JobSpec spec = LastJob().spec();
  EXPECT_EQ(spec.cache_policy(), qbc::v1::CACHE_POLICY_BYPASS);
  EXPECT_EQ(spec.resources().cpus(), 2);
  EXPECT_EQ(spec.resources().memory_bytes(), int64_t{3} << 30);
  EXPECT_EQ(spec.resources().gpus(), 1);
  EXPECT_EQ(spec.resources().scratch_bytes(), int64_t{512} << 20);
  ASSERT_EQ(Compile().code, 0);
  EXPECT_FALSE(LastJob().spec().has_resources());
  for (const auto& [flag, value] : {std::pair("--cache", "always"), std::pair("--memory", "8Q"),
                                    std::pair("--memory", "0"), std::pair("--cpus", "-1")}) {
    EXPECT_EQ(Compile({flag, value}).code, 2) << flag << value;
  }
}

TEST_F(WorkFlagsCli, SharedWorkIsTold) {
  SucceedEveryJob();
  ASSERT_EQ(Compile().code, 0);
  std::string id;
  {
    absl::MutexLock lock(&server_.mutex);
    server_.jobs.back().set_cache_hit(true);
    id = server_.jobs.back().id();
  }
  EXPECT_THAT(Run({"get", id}).out, HasSubstr("shared:         a stored result of the same work"));
  EXPECT_THAT(Run({"jobs"}).out, HasSubstr("stored result"));
  EXPECT_TRUE(Lines(Run({"get", id, "--json"}).out).at(0)["job"]["cache_hit"].as_bool());
  {
    absl::MutexLock lock(&server_.mutex);
    server_.jobs.back().set_cache_hit(false);
    server_.jobs.back().set_joined(true);
  }
  EXPECT_THAT(Run({"get", id}).out, HasSubstr("joined the same work of another job"));
}

}  // namespace
}  // namespace qb::client

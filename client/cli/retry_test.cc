// qbc retry.
#include "client/cli/testing/cli_fixture.h"

namespace qb::client {
namespace {

using ::testing::HasSubstr;

using RetryCli = CliFixture;

TEST_F(RetryCli, SubmitsTheSameAgain) {
  FailEveryJob(qbc::v1::FAILURE_REASON_MEMORY_LIMIT, "MEMORY_LIMIT", "too much");
  ASSERT_NE(Compile({"--priority", "7"}).code, 0);
  const qbc::v1::Job failed = LastJob();
  SucceedEveryJob();
  const RunResult retried = Run({"retry", failed.id(), "--memory", "16G", "--cache", "refresh"});
  EXPECT_EQ(retried.code, 0) << retried.err;
  const qbc::v1::Job again = LastJob();
  EXPECT_EQ(retried.out, again.id() + "\n");
  EXPECT_NE(again.id(), failed.id());
  EXPECT_EQ(again.spec().priority(), 7);
  EXPECT_EQ(again.spec().model().SerializeAsString(), failed.spec().model().SerializeAsString());
  EXPECT_EQ(again.spec().resources().memory_bytes(), int64_t{16} << 30);
  EXPECT_EQ(again.spec().cache_policy(), qbc::v1::CACHE_POLICY_REFRESH);
}

TEST_F(RetryCli, LeavesAJobAloneThatGoesOn) {
  ASSERT_EQ(Run({"submit", dir_.File("net.onnx"), "-t", "aries-rb", "--calib-data-path",
                 dir_.File("calib")})
                .code,
            0);
  const RunResult result = Run({"retry", LastJob().id()});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("has not ended"));
  EXPECT_EQ(Run({"retry", "none"}).code, 7);
}

}  // namespace
}  // namespace qb::client

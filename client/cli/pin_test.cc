// qbc pin and unpin, and how long jobs are kept.
#include "client/cli/job_text.h"
#include "client/cli/testing/cli_fixture.h"

namespace qb::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PinCli : public CliFixture {
 protected:
  std::string EndedJob() {
    SucceedEveryJob();
    EXPECT_EQ(Compile().code, 0);
    return LastJob().id();
  }
};

TEST_F(PinCli, PinsAndUnpins) {
  const std::string id = EndedJob();
  const RunResult pinned = Run({"pin", id});
  EXPECT_EQ(pinned.code, 0);
  EXPECT_EQ(pinned.out, id + " kept until it is unpinned\n");
  EXPECT_TRUE(LastJob().pinned());
  EXPECT_THAT(Run({"get", id}).out, HasSubstr("kept:           until it is unpinned\n"));
  EXPECT_THAT(Run({"jobs"}).out, HasSubstr("  pinned"));
  const Json job = Lines(Run({"unpin", id, "--json"}).out).at(0)["job"];
  EXPECT_FALSE(job["pinned"].as_bool());
  EXPECT_EQ(job["expire_time"].as_string(), "2100-01-01T00:00:00.000Z");
  EXPECT_FALSE(LastJob().pinned());
  EXPECT_THAT(Run({"get", id}).out, HasSubstr("kept:           until 2100-01-01T00:00:00.000Z\n"));
}

TEST_F(PinCli, AnswersWrongWords) {
  EXPECT_EQ(Run({"pin"}).code, 2);
  EXPECT_EQ(Run({"unpin"}).code, 2);
  EXPECT_EQ(Run({"pin", "none"}).code, 7);
}

TEST(JobTable, TellsHowMuchLongerJobsAreKept) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  for (const auto& [left_s, text] : {std::pair(30 * 86'400 - 1, "29 d"),
                                     {47 * 3600, "47 h"},
                                     {119 * 60, "119 min"},
                                     {59, "0 min"},
                                     {0, "expired"}}) {
    qbc::v1::Job job;
    job.set_id("j");
    job.mutable_expire_time()->set_seconds(absl::ToUnixSeconds(now) + left_s);
    EXPECT_THAT(JobTable({job}, now), HasSubstr(text));
  }
  EXPECT_THAT(JobTable({qbc::v1::Job()}, now), Not(HasSubstr("min")));
}

}  // namespace
}  // namespace qb::client

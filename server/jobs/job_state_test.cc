#include "server/jobs/job_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace qb::server {
namespace {

TEST(JobState, NothingLeavesATerminalState) {
  for (pb::JobState from : AllJobStates()) {
    for (pb::JobState to : AllJobStates()) {
      if (IsTerminal(from)) {
        EXPECT_FALSE(MayChange(from, to)) << JobStateWord(from) << " -> " << JobStateWord(to);
      }
    }
  }
}

TEST(JobState, NoStateFollowsItself) {
  for (pb::JobState state : AllJobStates()) {
    EXPECT_FALSE(MayChange(state, state)) << JobStateWord(state);
  }
}

TEST(JobState, EveryStateIsReachedAndEveryOpenOneCanEnd) {
  std::set<pb::JobState> reached = {pb::JOB_STATE_UNSPECIFIED};
  for (int round = 0; round < 10; ++round) {
    for (pb::JobState from : std::vector<pb::JobState>(reached.begin(), reached.end())) {
      for (pb::JobState to : AllJobStates()) {
        if (MayChange(from, to)) {
          reached.insert(to);
        }
      }
    }
  }
  EXPECT_EQ(reached.size(), AllJobStates().size() + 1);
  for (pb::JobState from : AllJobStates()) {
    if (IsTerminal(from)) {
      continue;
    }
    bool can_be_cancelled =
        MayChange(from, pb::JOB_STATE_CANCELLED) || MayChange(from, pb::JOB_STATE_CANCELLING);
    EXPECT_TRUE(can_be_cancelled) << JobStateWord(from);
  }
}

TEST(JobState, HasWords) {
  EXPECT_EQ(JobStateWord(pb::JOB_STATE_RETRY_WAIT), "RETRY_WAIT");
  EXPECT_TRUE(IsWaiting(pb::JOB_STATE_RETRY_WAIT));
  EXPECT_FALSE(IsWaiting(pb::JOB_STATE_CANCELLING));
  EXPECT_FALSE(IsTerminal(pb::JOB_STATE_CANCELLING));
}

}  // namespace
}  // namespace qb::server

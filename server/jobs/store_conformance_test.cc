// The form in a file against the model in memory: the same calls give the same answers and leave
// the same things to read, over restarts, and after a kill everything that was answered is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "server/jobs/memory_job_store.h"
#include "server/testing/store_fixture.h"
#include "server/testing/store_walk.h"

namespace qb::server {
namespace {

using testing::StoreWalk;

std::unique_ptr<MemoryJobStore> MakeModel() {
  return std::make_unique<MemoryJobStore>(
      SqliteJobStoreOptions(), [](const std::string& /*tenant*/, const pb::Artifact& artifact) {
        for (int i = 0; i < testing::kWalkArtifacts; ++i) {
          if (testing::WalkArtifact(i).sha256() == artifact.sha256()) {
            return testing::WalkArtifact(i).size_bytes() == artifact.size_bytes();
          }
        }
        return false;
      });
}

class StoreConformance : public testing::StoreFixture, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {}  // each test opens for itself

  void OpenWithBlobs() {
    Open();
    for (int i = 0; i < testing::kWalkArtifacts; ++i) {
      AddBlob(testing::WalkArtifact(i));
    }
  }

  uint64_t seed() const { return static_cast<uint64_t>(GetParam()); }
};

TEST_P(StoreConformance, AnswersAsTheModel) {
  OpenWithBlobs();
  const auto model = MakeModel();
  StoreWalk walk(seed());
  for (int step = 0; step < 120; ++step) {
    const StoreWalk::Call call = walk.Next();
    const StoreWalk::Outcome expected = call(*model);
    const StoreWalk::Outcome found = call(*store_);
    ASSERT_EQ(found.text, expected.text) << "step " << step;
    walk.Learn(found);
    if (step % 40 == 39) {
      Reopen();
      model->Restart(SqliteJobStoreOptions());
      ASSERT_EQ(walk.Snapshot(*store_), walk.Snapshot(*model)) << "step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StoreConformance, ::testing::Range(1, 41));

class StoreKills : public StoreConformance {
 protected:
  static constexpr int kSteps = 40;

  // Walks in a process of its own, which is killed once `acks` calls have been answered; it is then
  // somewhere in the next one. Returns how many were answered in the end.
  int WalkAndKill(int acks) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      WalkTo(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    int answered = 0;
    char byte = 0;
    while (answered < acks && read(ends[0], &byte, 1) == 1) {
      ++answered;
    }
    kill(child, SIGKILL);
    while (read(ends[0], &byte, 1) == 1) {
      ++answered;
    }
    close(ends[0]);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    return answered;
  }

 private:
  void WalkTo(int pipe_end) {
    OpenWithBlobs();
    const char byte = 'k';
    [[maybe_unused]] ssize_t written = write(pipe_end, &byte, 1);
    StoreWalk walk(seed());
    for (int step = 0; step < kSteps; ++step) {
      walk.Learn(walk.Next()(*store_));
      written = write(pipe_end, &byte, 1);
    }
  }
};

TEST_P(StoreKills, LoseNothingThatWasAnswered) {
  // The first answer is that of opening.
  const int answered = WalkAndKill(1 + static_cast<int>(seed() * 7 % kSteps)) - 1;
  ASSERT_GE(answered, 0);
  Open();
  const auto model = MakeModel();
  StoreWalk walk(seed());
  for (int step = 0; step < answered; ++step) {
    walk.Learn(walk.Next()(*model));
  }
  const StoreWalk before = walk;
  const std::string then = before.Snapshot(*model);
  if (answered < kSteps) {
    walk.Learn(walk.Next()(*model));
  }
  // The call that was under way has either happened or not.
  const std::string found = walk.Snapshot(*store_);
  const std::string after = walk.Snapshot(*model);
  if (found != after) {
    EXPECT_EQ(before.Snapshot(*store_), then);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StoreKills, ::testing::Range(1, 31));

}  // namespace
}  // namespace qb::server

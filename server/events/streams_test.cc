// The streams of WatchJobs and ReadLog, and a compact WatchJob.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/events/jobs_stream.h"
#include "server/events/log_stream.h"
#include "server/events/watch_stream.h"
#include "server/testing/store_fixture.h"

namespace qb::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StreamsTest : public testing::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    store_->SetCommitListener([this](const CommitNotice& notice) {
      hub_.Notify(notice.executions);
      if (notice.jobs_changed) {
        hub_.NotifyJobs();
      }
    });
    logs_.SetListener([this](int64_t execution) { hub_.Notify({execution}); });
  }

  std::unique_ptr<JobsStream> WatchJobs(int64_t after_revision, int limit = 100) {
    JobQuery query;
    query.tenant = "default";
    query.limit = limit;
    return std::make_unique<JobsStream>(*store_, hub_, clock_,
                                        JobsWatch{query, after_revision, 15'000, [](pb::Job&) {}},
                                        [this] { ++woken_; });
  }

  // Ids and states of one frame; empty for a wait.
  static std::vector<std::pair<std::string, pb::JobState>> Take(JobsStream& stream,
                                                                int64_t* revision = nullptr) {
    pb::WatchJobsResponse frame;
    const auto step = stream.Next(frame);
    EXPECT_TRUE(step.ok()) << step.status();
    std::vector<std::pair<std::string, pb::JobState>> jobs;
    if (step.ok() && *step == StreamStep::kSend) {
      for (const pb::Job& job : frame.jobs()) {
        jobs.emplace_back(job.id(), job.state());
      }
      if (revision != nullptr) {
        *revision = frame.revision();
      }
    }
    return jobs;
  }

  WatchHub hub_{clock_, 15'000};
  AttemptLogs logs_{folder_.File("logs"), {.segment_bytes = 16, .tail_segments = 2}};
  int woken_ = 0;
};

TEST_F(StreamsTest, JobsComeWhenTheyChangeAndOnceWhenTheyChangedTwice) {
  const std::string first = Submit();
  QB_ASSERT_OK_AND_ASSIGN(const JobPage page, store_->ListJobs({.tenant = "default"}));
  auto stream = WatchJobs(page.revision);
  EXPECT_THAT(Take(*stream), IsEmpty());
  const std::string second = Submit();
  EXPECT_EQ(woken_, 1);
  EXPECT_THAT(Take(*stream), ElementsAre(std::pair(second, pb::JOB_STATE_QUEUED)));
  const AttemptKey key = Lease()[0].attempt.key;
  QB_ASSERT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_FAILED)));
  EXPECT_THAT(Take(*stream), ElementsAre(std::pair(first, pb::JOB_STATE_FAILED)));
  EXPECT_THAT(Take(*stream), IsEmpty());
}

TEST_F(StreamsTest, RevisionsResumeOverARestartAndPages) {
  std::vector<std::string> ids;
  ids.reserve(5);
  for (int i = 0; i < 5; ++i) {
    ids.push_back(Submit());
  }
  int64_t revision = 0;
  EXPECT_EQ(Take(*WatchJobs(0, 2), &revision).size(), 2u);
  Reopen();
  std::vector<std::string> rest;
  for (int i = 0; i < 2; ++i) {
    for (const auto& [id, state] : Take(*WatchJobs(revision, 2), &revision)) {
      rest.push_back(id);
    }
  }
  EXPECT_THAT(rest, ElementsAre(ids[2], ids[3], ids[4]));
}

TEST_F(StreamsTest, IdleStreamShowsASignOfLifeAndEndsWithTheServer) {
  auto stream = WatchJobs(0);
  pb::WatchJobsResponse frame;
  QB_ASSERT_OK_AND_ASSIGN(const StreamStep wait, stream->Next(frame));
  EXPECT_EQ(wait, StreamStep::kWait);
  clock_.AdvanceMs(15'000);
  QB_ASSERT_OK_AND_ASSIGN(const StreamStep sign, stream->Next(frame));
  EXPECT_EQ(sign, StreamStep::kSend);
  EXPECT_EQ(frame.jobs_size(), 0);
  hub_.Close();
  EXPECT_EQ(stream->Next(frame).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(StreamsTest, CountsFollowEveryChange) {
  Submit();
  Submit();
  const std::string id = Submit();
  const auto leased = Lease(1);
  QB_ASSERT_OK(store_->RequestCancel("default", id, "", clock_.WallMs()));
  QB_ASSERT_OK_AND_ASSIGN(const auto counts, store_->CountJobs("default"));
  const std::map<pb::JobState, int64_t> expected = {
      {pb::JOB_STATE_QUEUED, 1}, {pb::JOB_STATE_RUNNING, 1}, {pb::JOB_STATE_CANCELLED, 1}};
  EXPECT_EQ(counts, expected);
}

class LogStreamTest : public StreamsTest {
 protected:
  void SetUp() override {
    StreamsTest::SetUp();
    id_ = Submit();
    key_ = Lease()[0].attempt.key;
  }

  void Write(const std::string& text) {
    QB_ASSERT_OK_AND_ASSIGN(size_, logs_.Append(key_.execution, 1, size_, text));
  }

  std::unique_ptr<LogStream> Read(int64_t offset, bool follow, int64_t limit = INT64_MAX) {
    return std::make_unique<LogStream>(
        *store_, logs_, hub_, LogRange{"default", id_, key_.execution, 1, offset, limit, follow},
        [this] { ++woken_; });
  }

  // Text up to a wait ("|") or the end.
  static std::string Drain(LogStream& stream) {
    std::string text;
    while (true) {
      pb::ReadLogResponse frame;
      const auto step = stream.Next(frame);
      EXPECT_TRUE(step.ok()) << step.status();
      if (!step.ok() || *step == StreamStep::kEnd) {
        return text;
      }
      if (*step == StreamStep::kWait) {
        return text + "|";
      }
      text += frame.data();
    }
  }

  std::string id_;
  AttemptKey key_;
  int64_t size_ = 0;
};

TEST_F(LogStreamTest, TailAndLimitAreBytes) {
  Write("0123456789");
  EXPECT_EQ(Drain(*Read(-3, false)), "789");
  EXPECT_EQ(Drain(*Read(-100, false)), "0123456789");
  EXPECT_EQ(Drain(*Read(2, false, 4)), "2345");
}

TEST_F(LogStreamTest, FollowsUntilTheAttemptIsOver) {
  Write("one ");
  auto stream = Read(0, true);
  EXPECT_EQ(Drain(*stream), "one |");
  woken_ = 0;
  Write("two ");
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(Drain(*stream), "two |");
  Write("three");
  QB_ASSERT_OK(logs_.Sync(key_.execution, 1));
  QB_ASSERT_OK(store_->Complete(key_, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  EXPECT_EQ(Drain(*stream), "three");
}

TEST_F(LogStreamTest, HeadAndTailStayWhenTheMiddleIsCut) {
  for (int i = 0; i < 20; ++i) {
    Write("0123456789");
  }
  const std::string text = Drain(*Read(0, false));
  EXPECT_LT(text.size(), 16u * 4);
  EXPECT_EQ(text.substr(0, 16), "0123456789012345");
  EXPECT_EQ(Drain(*Read(-10, false)), "0123456789");
}

TEST_F(StreamsTest, CompactWatchKeepsTheLastProgressAndEverythingElse) {
  const std::string id = Submit();
  const AttemptKey key = Lease()[0].attempt.key;
  std::vector<pb::AttemptEvent> events;
  for (int i = 1; i <= 200; ++i) {
    pb::AttemptEvent event;
    event.set_seq(i);
    if (i % 50 == 0) {
      event.mutable_phase()->set_phase("phase");
    } else {
      event.mutable_progress()->set_fraction(i / 200.0);
    }
    clock_.AdvanceMs(300);
    QB_ASSERT_OK(store_->AppendEvents(key, {event}, clock_.WallMs()));
  }
  QB_ASSERT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  QB_ASSERT_OK_AND_ASSIGN(const JobPosition position, store_->FindJob("default", id));
  WatchStream stream({*store_, hub_, clock_}, WatchLimits(), position, 0, /*compact=*/true);
  std::vector<pb::JobEvent> seen;
  pb::WatchJobResponse frame;
  while (true) {
    QB_ASSERT_OK_AND_ASSIGN(const StreamStep step, stream.Next(frame));
    if (step != StreamStep::kSend) {
      break;
    }
    seen.insert(seen.end(), frame.events().begin(), frame.events().end());
  }
  int progress = 0;
  int phases = 0;
  for (const pb::JobEvent& event : seen) {
    progress += event.has_progress() ? 1 : 0;
    phases += event.has_phase() ? 1 : 0;
  }
  EXPECT_EQ(phases, 4);
  EXPECT_LE(progress, 2);
  EXPECT_GE(progress, 1);
  EXPECT_TRUE(seen.back().has_result());
}

}  // namespace
}  // namespace qb::server

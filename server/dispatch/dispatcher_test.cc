#include "server/dispatch/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

#include "server/testing/store_fixture.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

// The answer of one Sync, whenever it comes.
class Answer {
 public:
  Dispatcher::SyncDone Done() {
    return [state = state_](absl::StatusOr<pb::SyncResponse> response) {
      state->response = std::move(response);
      state->come.Notify();
    };
  }
  bool has_come() const { return state_->come.HasBeenNotified(); }
  // Waits a little for what other threads are about to do; returns has_come().
  bool ComesSoon() const {
    return state_->come.WaitForNotificationWithTimeout(absl::Milliseconds(50));
  }
  const absl::StatusOr<pb::SyncResponse>& Get() const {
    EXPECT_TRUE(state_->come.WaitForNotificationWithTimeout(absl::Seconds(60)));
    return state_->response;
  }

 private:
  struct State {
    absl::Notification come;
    absl::StatusOr<pb::SyncResponse> response;
  };
  // Shared with the callback, which may outlive a test that fails.
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class DispatcherTest : public testing::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    options_.lease_ttl_ms = 30'000;
    options_.cancel_grace_ms = 60'000;
    StartDispatcher();
  }
  void TearDown() override {
    dispatcher_->Close();
    pool_.reset();
  }

  void StartDispatcher() {
    pool_ = std::make_unique<TaskPool>(2, 100);
    dispatcher_ = std::make_unique<Dispatcher>(*store_, clock_, *pool_, options_);
    QB_ASSERT_OK(dispatcher_->Start());
    store_->SetCommitListener([this](const CommitNotice& notice) {
      if (notice.leasable_from_ms.has_value()) {
        dispatcher_->WorkAvailable(*notice.leasable_from_ms);
      }
    });
  }

  void RestartServer() {
    dispatcher_->Close();
    pool_.reset();
    dispatcher_.reset();
    Reopen();
    StartDispatcher();
  }

  // Epochs in the order of their numbers.
  static std::string Epoch(int number) {
    return "00000000-0000-7000-8000-00000000000" + std::to_string(number);
  }

  static pb::SyncRequest Request(const std::string& worker, int free_slots, int epoch = 1,
                                 const std::vector<pb::AttemptKey>& held = {}) {
    pb::SyncRequest request;
    request.set_worker_id(worker);
    request.set_epoch(Epoch(epoch));
    request.set_free_slots(free_slots);
    for (const pb::AttemptKey& key : held) {
      *request.add_held()->mutable_key() = key;
    }
    return request;
  }

  absl::StatusOr<pb::SyncResponse> Sync(const pb::SyncRequest& request) {
    Answer answer;
    dispatcher_->Sync(request, answer.Done());
    return answer.Get();
  }

  Answer LongSync(pb::SyncRequest request) {
    request.mutable_max_wait()->set_seconds(3600);
    Answer answer;
    dispatcher_->Sync(request, answer.Done());
    return answer;
  }

  pb::AttemptKey LeaseOne(const std::string& worker = "a", int epoch = 1) {
    const auto response = Sync(Request(worker, 1, epoch));
    EXPECT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->assignments_size(), 1);
    return response->assignments(0).key();
  }

  static AttemptKey Key(const pb::AttemptKey& key) {
    return {key.execution_id(), key.attempt(), key.fence()};
  }

  DispatcherOptions options_;
  std::unique_ptr<TaskPool> pool_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(DispatcherTest, GivesWorkWithItsCommandLine) {
  pb::JobSpec spec = Spec();
  spec.set_threads(3);
  spec.mutable_config()->set_preset("fast");
  const std::string id = Submit(spec);
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse response, Sync(Request("a", 2)));
  ASSERT_EQ(response.assignments_size(), 1);
  EXPECT_EQ(response.assignments(0).job_id(), id);
  EXPECT_THAT(response.assignments(0).compiler_flags(),
              ::testing::ElementsAre("--target-device", "aries-rb", "--config-preset", "fast",
                                     "--threads", "3"));
  EXPECT_EQ(response.lease_ttl().seconds(), 30);
  EXPECT_EQ(response.sync_interval().seconds(), 10);
  EXPECT_EQ(Get(id).worker_id(), "a");
}

TEST_F(DispatcherTest, RefusesMalformedAgents) {
  EXPECT_EQ(Sync(Request("", 1)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Sync(Request("a/b", 1)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Sync(Request("a", -1)).status().code(), absl::StatusCode::kInvalidArgument);
  pb::SyncRequest request = Request("a", 1);
  request.set_epoch("first");
  EXPECT_EQ(Sync(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(DispatcherTest, WaitingAgentIsWokenByASubmit) {
  const Answer answer = LongSync(Request("a", 1));
  EXPECT_FALSE(answer.has_come());
  Submit();
  QB_ASSERT_OK(answer.Get());
  EXPECT_EQ(answer.Get()->assignments_size(), 1);
}

TEST_F(DispatcherTest, WaitEndsAfterAThirdOfTheLease) {
  const Answer answer = LongSync(Request("a", 1));
  clock_.AdvanceMs(9'999);
  dispatcher_->Tick();
  EXPECT_FALSE(answer.has_come());
  clock_.AdvanceMs(1);
  dispatcher_->Tick();
  QB_ASSERT_OK(answer.Get());
  EXPECT_EQ(answer.Get()->assignments_size(), 0);
}

TEST_F(DispatcherTest, RenewedLeaseLivesOnAndSilentOneIsLost) {
  const std::string id = Submit();
  const pb::AttemptKey key = LeaseOne();
  for (int i = 0; i < 10; ++i) {
    clock_.AdvanceMs(10'000);
    dispatcher_->Tick();
    QB_ASSERT_OK(Sync(Request("a", 0, 1, {key})));
  }
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RUNNING);
  for (int i = 0; i < 3; ++i) {
    clock_.AdvanceMs(10'000);
    dispatcher_->Tick();
  }
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RETRY_WAIT);
  // The agent comes back too late and is told to drop it.
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse response, Sync(Request("a", 0, 1, {key})));
  ASSERT_EQ(response.kill_size(), 1);
  EXPECT_EQ(response.kill(0).fence(), key.fence());
}

TEST_F(DispatcherTest, JumpsOfTheWallClockLoseNothing) {
  const std::string id = Submit();
  LeaseOne();
  clock_.JumpWallMs(int64_t{7} * 24 * 3600 * 1000);
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RUNNING);
}

TEST_F(DispatcherTest, ServerThatStoodStillLosesNothing) {
  const std::string id = Submit();
  LeaseOne();
  dispatcher_->Tick();
  clock_.AdvanceMs(600'000);  // suspended
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RUNNING);
}

TEST_F(DispatcherTest, RestartGivesEveryLiveAttemptAWholeLease) {
  const std::string id = Submit();
  const pb::AttemptKey key = LeaseOne();
  clock_.AdvanceMs(600'000);  // the server was away
  RestartServer();
  dispatcher_->Tick();
  clock_.AdvanceMs(29'000);
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse response, Sync(Request("a", 0, 1, {key})));
  EXPECT_EQ(response.kill_size(), 0);
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RUNNING);
  EXPECT_EQ(Get(id).attempt_count(), 1);
}

TEST_F(DispatcherTest, RestartedAgentLosesItsAttemptsAtOnce) {
  const std::string id = Submit();
  LeaseOne("a", 1);
  QB_ASSERT_OK(Sync(Request("a", 0, 2)));
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RETRY_WAIT);
  EXPECT_THAT(Get(id).wait_reason(), HasSubstr("restarted"));
}

TEST_F(DispatcherTest, OldProcessOfAnAgentIsTurnedAway) {
  const Answer old_call = LongSync(Request("a", 1, 1));
  QB_ASSERT_OK(Sync(Request("a", 0, 2)));
  EXPECT_THAT(old_call.Get(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("STALE_WORKER")));
  EXPECT_THAT(Sync(Request("a", 1, 1)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("STALE_WORKER")));
  // Once the later one is silent, an epoch from a clock that went back is as good as any.
  clock_.AdvanceMs(30'000);
  QB_EXPECT_OK(Sync(Request("a", 1, 1)));
}

TEST_F(DispatcherTest, LeaseThatNeverArrivedIsGivenAgainWithItsKey) {
  Submit();
  const pb::AttemptKey key = LeaseOne();
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse again, Sync(Request("a", 1)));
  ASSERT_EQ(again.assignments_size(), 1);
  EXPECT_EQ(again.assignments(0).key().fence(), key.fence());
}

TEST_F(DispatcherTest, GivesNoMoreThanTheFreeSlots) {
  for (int i = 0; i < 5; ++i) {
    Submit();
  }
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse two, Sync(Request("a", 2)));
  EXPECT_EQ(two.assignments_size(), 2);
  // Both were lost on the way: they fill the slots again before anything new.
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse three, Sync(Request("a", 3)));
  EXPECT_EQ(three.assignments_size(), 3);
}

TEST_F(DispatcherTest, DrainingAgentGetsNoWork) {
  Submit();
  pb::SyncRequest request = Request("a", 1);
  request.set_draining(true);
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse response, Sync(request));
  EXPECT_EQ(response.assignments_size(), 0);
}

TEST_F(DispatcherTest, CancelReachesAWaitingAgent) {
  const std::string id = Submit();
  const pb::AttemptKey key = LeaseOne();
  const Answer answer = LongSync(Request("a", 0, 1, {key}));
  EXPECT_FALSE(answer.has_come());
  QB_ASSERT_OK_AND_ASSIGN(const CancelOutcome outcome,
                          store_->RequestCancel("default", id, "", clock_.WallMs()));
  dispatcher_->CancelAttempt(*outcome.running);
  QB_ASSERT_OK(answer.Get());
  ASSERT_EQ(answer.Get()->cancel_size(), 1);
  EXPECT_EQ(answer.Get()->cancel(0).fence(), key.fence());
  EXPECT_EQ(dispatcher_->FindLease(Key(key)), std::optional<bool>(true));
}

TEST_F(DispatcherTest, CancelThatTheAgentIgnoresEndsTheJobAfterTheGrace) {
  const std::string id = Submit();
  const pb::AttemptKey key = LeaseOne();
  QB_ASSERT_OK_AND_ASSIGN(const CancelOutcome outcome,
                          store_->RequestCancel("default", id, "", clock_.WallMs()));
  dispatcher_->CancelAttempt(*outcome.running);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(Get(id).state(), pb::JOB_STATE_CANCELLING);
    clock_.AdvanceMs(10'000);
    QB_ASSERT_OK(Sync(Request("a", 0, 1, {key})));
    dispatcher_->Tick();
  }
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_CANCELLED);
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse response, Sync(Request("a", 0, 1, {key})));
  EXPECT_EQ(response.kill_size(), 1);
}

TEST_F(DispatcherTest, CancelSurvivesARestart) {
  const std::string id = Submit();
  const pb::AttemptKey key = LeaseOne();
  QB_ASSERT_OK(store_->RequestCancel("default", id, "", clock_.WallMs()));
  RestartServer();
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse response, Sync(Request("a", 0, 1, {key})));
  ASSERT_EQ(response.cancel_size(), 1);
}

TEST_F(DispatcherTest, CompletionEndsTheWaitOfItsAgent) {
  Submit();
  const pb::AttemptKey key = LeaseOne();
  const Answer answer = LongSync(Request("a", 0, 1, {key}));
  QB_ASSERT_OK(store_->Complete(Key(key), Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  dispatcher_->AttemptEnded(Key(key));
  QB_ASSERT_OK(answer.Get());
  EXPECT_EQ(answer.Get()->kill_size(), 0);
  EXPECT_EQ(dispatcher_->FindLease(Key(key)), std::nullopt);
}

TEST_F(DispatcherTest, RetryIsGivenOutWhenItsWaitIsOver) {
  const std::string id = Submit();
  LeaseOne("a", 1);
  QB_ASSERT_OK(Sync(Request("a", 0, 2)));
  ASSERT_EQ(Get(id).state(), pb::JOB_STATE_RETRY_WAIT);
  const Answer answer = LongSync(Request("b", 1));
  // The agent's request is taken in by another thread, so the ticks must not all be over before it.
  for (int i = 0; i < 1000 && !answer.ComesSoon(); ++i) {
    clock_.AdvanceMs(100);
    dispatcher_->Tick();
  }
  QB_ASSERT_OK(answer.Get());
  ASSERT_EQ(answer.Get()->assignments_size(), 1);
  EXPECT_EQ(answer.Get()->assignments(0).key().attempt(), 2);
}

TEST_F(DispatcherTest, TickExpiresQueuedJobs) {
  const std::string id = Submit();
  clock_.AdvanceMs(3600'000);
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_EXPIRED);
}

TEST_F(DispatcherTest, ClosingAnswersEverybodyAndLosesNothing) {
  const std::string id = Submit();
  LeaseOne();
  const Answer answer = LongSync(Request("b", 1));
  dispatcher_->Close();
  EXPECT_EQ(answer.Get().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Sync(Request("c", 1)).status().code(), absl::StatusCode::kUnavailable);
  clock_.AdvanceMs(100'000);
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RUNNING);
}

TEST_F(DispatcherTest, GivesNoWorkBeforeItEnds) {
  Submit();
  dispatcher_->StopGivingWork();
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse response, Sync(Request("a", 1)));
  EXPECT_EQ(response.assignments_size(), 0);
}

TEST_F(DispatcherTest, ListsWorkersThatLive) {
  Submit();
  LeaseOne("a");
  QB_ASSERT_OK(Sync(Request("b", 1)));
  auto workers = dispatcher_->ListWorkers();
  ASSERT_EQ(workers.size(), 2u);
  EXPECT_EQ(workers[0].worker_id(), "a");
  EXPECT_EQ(workers[0].busy_slots(), 1);
  clock_.AdvanceMs(30'000);
  EXPECT_TRUE(dispatcher_->ListWorkers().empty());
}

TEST_F(DispatcherTest, EndsACompileThatItsAgentDoesNotEnd) {
  const std::string id = Submit();  // run_timeout 60 s
  const pb::AttemptKey key = LeaseOne();
  pb::SyncRequest request = Request("a", 0, 1, {key});
  const auto pass = [&](int64_t ms) {
    for (int64_t i = 0; i < ms; i += 10'000) {
      clock_.AdvanceMs(10'000);
      QB_ASSERT_OK(Sync(request));
      dispatcher_->Tick();
    }
  };
  request.mutable_held(0)->set_phase(pb::ATTEMPT_PHASE_FETCHING);
  pass(300'000);  // no time of the run
  request.mutable_held(0)->set_phase(pb::ATTEMPT_PHASE_RUNNING);
  QB_ASSERT_OK(Sync(request));
  pass(110'000);
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RUNNING);
  pass(20'000);
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_FAILED);
  EXPECT_EQ(Get(id).failure().reason(), pb::FAILURE_REASON_TIMEOUT);
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse response, Sync(request));
  EXPECT_EQ(response.kill_size(), 1);
}

TEST_F(DispatcherTest, ResultsThatAreOnTheirWayAreInTime) {
  const std::string id = Submit();
  const pb::AttemptKey key = LeaseOne();
  pb::SyncRequest request = Request("a", 0, 1, {key});
  request.mutable_held(0)->set_phase(pb::ATTEMPT_PHASE_RUNNING);
  QB_ASSERT_OK(Sync(request));
  request.mutable_held(0)->set_phase(pb::ATTEMPT_PHASE_REPORTING);
  for (int i = 0; i < 30; ++i) {
    clock_.AdvanceMs(10'000);
    QB_ASSERT_OK(Sync(request));
    dispatcher_->Tick();
  }
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RUNNING);
}

TEST_F(DispatcherTest, SaysWhatNobodyHas) {
  EXPECT_THAT(dispatcher_->WhyNobody("aries-rb", {}), HasSubstr("no worker is connected"));
  pb::SyncRequest request = Request("a", 1);
  request.mutable_capabilities()->set_cpus(4);
  request.mutable_capabilities()->set_memory_bytes(1000);
  request.mutable_capabilities()->set_scratch_bytes(1000);
  request.mutable_capabilities()->add_targets("aries-rb");
  QB_ASSERT_OK(Sync(request));
  EXPECT_EQ(dispatcher_->WhyNobody("aries-rb", {4, 1000, 0, 1000}), "");
  EXPECT_THAT(dispatcher_->WhyNobody("regulus-ra", {}), HasSubstr("compiles for 'regulus-ra'"));
  EXPECT_THAT(dispatcher_->WhyNobody("aries-rb", {.gpus = 1}), HasSubstr("1 GPUs"));
  EXPECT_THAT(dispatcher_->WhyNobody("aries-rb", {.cpus = 5}), HasSubstr("5 CPUs"));
  EXPECT_THAT(dispatcher_->WhyNobody("aries-rb", {.memory_bytes = 1001}), HasSubstr("memory"));
  EXPECT_THAT(dispatcher_->WhyNobody("aries-rb", {.scratch_bytes = 1001}), HasSubstr("scratch"));
  request = Request("b", 1);
  request.mutable_capabilities()->add_gpus("0");
  request.mutable_capabilities()->set_cpus(1);
  QB_ASSERT_OK(Sync(request));
  EXPECT_EQ(dispatcher_->WhyNobody("aries-rb", {.gpus = 1}), "");
  EXPECT_THAT(dispatcher_->WhyNobody("aries-rb", {.cpus = 4, .gpus = 1}), HasSubstr("at once"));
  clock_.AdvanceMs(30'000);
  EXPECT_THAT(dispatcher_->WhyNobody("aries-rb", {}), HasSubstr("no worker is connected"));
}

TEST_F(DispatcherTest, TellsTheAgentHowManyGpusAnAttemptHas) {
  NewJob job = MakeJob();
  job.needs.gpus = 2;
  QB_ASSERT_OK(store_->Submit(job));
  pb::SyncRequest request = Request("a", 1);
  request.mutable_capabilities()->add_gpus("0");
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse one, Sync(request));
  EXPECT_EQ(one.assignments_size(), 0);
  request.mutable_capabilities()->add_gpus("1");
  QB_ASSERT_OK_AND_ASSIGN(const pb::SyncResponse two, Sync(request));
  ASSERT_EQ(two.assignments_size(), 1);
  EXPECT_EQ(two.assignments(0).gpus(), 2);
}

TEST_F(DispatcherTest, EndOfAnAttemptLetsItsTenantRunAnotherElsewhere) {
  options_.running_limit = [](const std::string& tenant) { return tenant == "default" ? 1 : 0; };
  RestartServer();
  Submit();
  Submit();
  const pb::AttemptKey key = LeaseOne("a");
  const Answer other = LongSync(Request("b", 1));
  EXPECT_FALSE(other.ComesSoon());
  QB_ASSERT_OK(store_->Complete(Key(key), Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)).status());
  dispatcher_->AttemptEnded(Key(key));
  QB_ASSERT_OK(other.Get().status());
  EXPECT_EQ(other.Get()->assignments_size(), 1);
}

}  // namespace
}  // namespace qb::server

// The order of work, by itself and in a farm that is simulated with a clock of its own: the figures
// that the simulations check are promises of the service.
#include "server/jobs/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

namespace qb::server {
namespace {

using ::testing::ElementsAre;

WaitingWork Work(int64_t id, const std::string& tenant, int priority = 0, int64_t enqueued_ms = 0) {
  WaitingWork work;
  work.id = id;
  work.tenant = tenant;
  work.priority = priority;
  work.enqueued_ms = enqueued_ms;
  work.target = "aries-rb";
  return work;
}

class WorkQueueTest : public ::testing::Test {
 protected:
  // Ids in the order in which one worker with many slots would start them now.
  std::vector<int64_t> Order(const WorkerRoom& room, int64_t now_ms) {
    std::vector<int64_t> ids;
    while (const auto choice = queue_.Choose(room, now_ms)) {
      ids.push_back(choice->id);
      Start(room, *choice, now_ms);
    }
    return ids;
  }

  void Start(const WorkerRoom& room, const WorkQueue::Choice& choice, int64_t now_ms,
             int64_t latest_end_ms = INT64_MAX, const std::string& tenant = "t") {
    RunningWork running;
    running.id = choice.id;
    running.tenant = tenant;
    running.worker = room.worker;
    running.held = choice.held;
    running.cost = choice.cost;
    running.start_ms = now_ms;
    running.latest_end_ms = latest_end_ms;
    queue_.Run(running, now_ms);
  }

  WorkQueue queue_;
  WorkerRoom room_{.worker = "w", .targets = {}, .slots = 4, .total = {}};
};

TEST_F(WorkQueueTest, PriorityGoesBeforeAge) {
  queue_.Wait(Work(1, "t", 0, 10), 10);
  queue_.Wait(Work(2, "t", 5, 20), 20);
  queue_.Wait(Work(3, "t", 0, 5), 20);
  EXPECT_THAT(Order(room_, 20), ElementsAre(2, 3, 1));
}

TEST_F(WorkQueueTest, AMinuteOfWaitingIsAPointOfPriority) {
  queue_.Wait(Work(1, "t", 0, 0), 0);
  queue_.Wait(Work(2, "t", 2, 130'000), 130'000);
  EXPECT_EQ(queue_.Choose(room_, 130'000)->id, 1);  // both have 2, and it is older
  EXPECT_EQ(queue_.Choose(room_, 119'999)->id, 2);
}

TEST_F(WorkQueueTest, AgeIsWorthFiftyPointsAtMost) {
  queue_.Wait(Work(1, "t", 0, 0), 0);
  const int64_t later = int64_t{600} * 60'000;
  queue_.Wait(Work(2, "t", 51, later), later);
  EXPECT_THAT(Order(room_, later), ElementsAre(2, 1));
}

TEST_F(WorkQueueTest, BandsGoBeforeTenants) {
  queue_.Wait(Work(1, "idle", 0), 0);
  queue_.Wait(Work(2, "busy", 40), 0);
  queue_.Wait(Work(3, "batch", -50), 0);
  RunningWork running;
  running.id = 9;
  running.tenant = "busy";
  running.worker = "other";
  queue_.Run(running, 0);
  EXPECT_THAT(Order(room_, 1000), ElementsAre(2, 1, 3));
}

TEST_F(WorkQueueTest, WaitsForItsTimeAndSaysWhen) {
  WaitingWork work = Work(1, "t");
  work.run_after_ms = 500;
  queue_.Wait(work, 0);
  EXPECT_FALSE(queue_.Choose(room_, 499).has_value());
  EXPECT_EQ(queue_.NextRunAfter(), 500);
  EXPECT_EQ(queue_.Choose(room_, 500)->id, 1);
  EXPECT_FALSE(queue_.NextRunAfter().has_value());
}

TEST_F(WorkQueueTest, ExpiredAndSkippedWorkIsPassedOver) {
  WaitingWork work = Work(1, "t");
  work.expires_ms = 100;
  queue_.Wait(work, 0);
  queue_.Wait(Work(2, "t", 0, 1), 0);
  queue_.Wait(Work(3, "t", 0, 2), 0);
  EXPECT_EQ(queue_.Choose(room_, 99)->id, 1);
  EXPECT_EQ(queue_.Choose(room_, 100)->id, 2);
  EXPECT_EQ(queue_.Choose(room_, 100, {2})->id, 3);
  queue_.Forget(2, 100);
  queue_.Forget(2, 100);
  EXPECT_EQ(queue_.Choose(room_, 100)->id, 3);
}

TEST_F(WorkQueueTest, TargetsAndResourcesMustFitTheWorker) {
  WaitingWork work = Work(1, "t");
  work.target = "regulus-ra";
  work.needs = {.cpus = 4, .memory_bytes = 100, .gpus = 1, .scratch_bytes = 10};
  queue_.Wait(work, 0);
  WorkerRoom room{.worker = "w", .targets = {"aries-rb"}, .slots = 1, .total = {4, 100, 1, 10}};
  EXPECT_FALSE(queue_.Choose(room, 0).has_value());
  room.targets.push_back("regulus-ra");
  for (int64_t* value :
       {&room.total.cpus, &room.total.memory_bytes, &room.total.gpus, &room.total.scratch_bytes}) {
    --*value;
    if (value == &room.total.gpus || *value > 0) {
      EXPECT_FALSE(queue_.Choose(room, 0).has_value());
    }
    ++*value;
  }
  EXPECT_TRUE(queue_.Choose(room, 0).has_value());
  room.total = {.gpus = 1};  // cpus and the like were not told: no limit
  EXPECT_TRUE(queue_.Choose(room, 0).has_value());
}

TEST_F(WorkQueueTest, PreferredGpusAreGivenWhileThereAreAny) {
  for (int64_t id : {1, 2}) {
    WaitingWork work = Work(id, "t");
    work.prefers_gpu = true;
    queue_.Wait(work, 0);
  }
  room_.total.gpus = 1;
  const auto first = queue_.Choose(room_, 0);
  EXPECT_EQ(first->held.gpus, 1);
  EXPECT_EQ(first->cost, 1.0);
  Start(room_, *first, 0);
  const auto second = queue_.Choose(room_, 0);
  EXPECT_EQ(second->held.gpus, 0);
  EXPECT_EQ(second->cost, 0.25);
}

TEST_F(WorkQueueTest, RoomIsKeptForWorkThatDoesNotFitYet) {
  room_.total.cpus = 8;
  WaitingWork small = Work(1, "t");
  small.needs.cpus = 2;
  queue_.Wait(small, 0);
  const auto first = queue_.Choose(room_, 0);
  Start(room_, *first, 0, 1000);
  WaitingWork big = Work(2, "t", 10);
  big.needs.cpus = 8;
  queue_.Wait(big, 0);
  WaitingWork slow = Work(3, "t");
  slow.needs.cpus = 2;
  slow.run_timeout_ms = 5000;
  queue_.Wait(slow, 0);
  EXPECT_FALSE(queue_.Choose(room_, 100).has_value());
  WaitingWork quick = slow;
  quick.id = 4;
  quick.needs.cpus = 1;
  quick.run_timeout_ms = 900;
  queue_.Wait(quick, 0);
  EXPECT_EQ(queue_.Choose(room_, 100)->id, 4);  // it is gone before the room is needed
  // Another worker keeps no room for the same work.
  WorkerRoom other = room_;
  other.worker = "x";
  RunningWork there;
  there.id = 9;
  there.tenant = "t";
  there.worker = "x";
  there.held.cpus = 1;
  queue_.Run(there, 100);
  EXPECT_EQ(queue_.Choose(other, 100)->id, 3);
  // Unless the first does not ask any more.
  EXPECT_FALSE(queue_.Choose(other, 100'000, {4}).has_value());
}

TEST_F(WorkQueueTest, WhatTheKeptRoomLeavesOverIsUsed) {
  room_.total = {.cpus = 4, .gpus = 1};
  WaitingWork on_gpu = Work(1, "t");
  on_gpu.needs.gpus = 1;
  queue_.Wait(on_gpu, 0);
  Start(room_, *queue_.Choose(room_, 0), 0, 1000);
  on_gpu.id = 2;
  on_gpu.needs.cpus = 2;
  queue_.Wait(on_gpu, 0);
  // It may run as long as it likes: the GPU and two CPUs are left for the one that waits.
  WaitingWork on_cpu = Work(3, "t", -5);
  on_cpu.needs.cpus = 2;
  on_cpu.prefers_gpu = true;
  queue_.Wait(on_cpu, 0);
  const auto choice = queue_.Choose(room_, 100);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->id, 3);
  Start(room_, *choice, 100);
  on_cpu.id = 4;
  on_cpu.needs.cpus = 1;
  queue_.Wait(on_cpu, 0);
  EXPECT_FALSE(queue_.Choose(room_, 200).has_value());
}

TEST_F(WorkQueueTest, CostIsTheLargestShare) {
  const WorkerRoom room{.worker = "w", .targets = {}, .slots = 4, .total = {8, 100, 2, 0}};
  EXPECT_EQ(ShareOf(room, {}), 0.25);
  EXPECT_EQ(ShareOf(room, {.cpus = 4}), 0.5);
  EXPECT_EQ(ShareOf(room, {.cpus = 4, .memory_bytes = 75}), 0.75);
  EXPECT_EQ(ShareOf(room, {.gpus = 2}), 1.0);
}

// ---- a farm with a virtual clock

struct SimJob {
  std::string tenant;
  int64_t submit_ms = 0;
  int64_t length_ms = 0;
  int priority = 0;
  Resources needs;
  int64_t start_ms = -1;
  int64_t end_ms = -1;
};

class Farm {
 public:
  explicit Farm(std::vector<WorkerRoom> workers) : workers_(std::move(workers)) {}

  WorkQueue& queue() { return queue_; }
  std::vector<SimJob>& jobs() { return jobs_; }

  void Submit(const std::string& tenant, int64_t submit_ms, int64_t length_ms, int priority = 0,
              Resources needs = {}) {
    jobs_.push_back({tenant, submit_ms, length_ms, priority, needs});
  }

  // Runs until `until_ms`, or to the end.
  void Run(int64_t until_ms = INT64_MAX) {
    for (size_t i = 0; i < jobs_.size(); ++i) {
      moments_.emplace(jobs_[i].submit_ms, static_cast<int64_t>(i));
    }
    while (!moments_.empty() && moments_.top().first <= until_ms) {
      const int64_t now_ms = moments_.top().first;
      while (!moments_.empty() && moments_.top().first == now_ms) {
        Happen(moments_.top().second, now_ms);
        moments_.pop();
      }
      FillWorkers(now_ms);
    }
  }

 private:
  using Moment = std::pair<int64_t, int64_t>;  // time, job

  void Happen(int64_t id, int64_t now_ms) {
    SimJob& job = jobs_[static_cast<size_t>(id)];
    if (job.start_ms >= 0) {
      job.end_ms = now_ms;
      --busy_[worker_of_[id]];
      queue_.Forget(id, now_ms);
      return;
    }
    WaitingWork work = Work(id, job.tenant, job.priority, now_ms);
    work.needs = job.needs;
    work.run_timeout_ms = job.length_ms;
    queue_.Wait(work, now_ms);
  }

  void FillWorkers(int64_t now_ms) {
    for (const WorkerRoom& room : workers_) {
      while (busy_[room.worker] < room.slots) {
        const auto choice = queue_.Choose(room, now_ms);
        if (!choice.has_value()) {
          break;
        }
        SimJob& job = jobs_[static_cast<size_t>(choice->id)];
        job.start_ms = now_ms;
        RunningWork running;
        running.id = choice->id;
        running.tenant = job.tenant;
        running.worker = room.worker;
        running.held = choice->held;
        running.cost = choice->cost;
        running.start_ms = now_ms;
        running.latest_end_ms = now_ms + job.length_ms;
        queue_.Run(running, now_ms);
        worker_of_[choice->id] = room.worker;
        ++busy_[room.worker];
        moments_.emplace(now_ms + job.length_ms, choice->id);
      }
    }
  }

  std::vector<WorkerRoom> workers_;
  WorkQueue queue_;
  std::vector<SimJob> jobs_;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<Moment>> moments_;
  std::map<std::string, int> busy_;
  std::map<int64_t, std::string> worker_of_;
};

std::vector<WorkerRoom> Workers(int count, int slots) {
  std::vector<WorkerRoom> workers;
  workers.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    workers.push_back({.worker = std::to_string(i), .targets = {}, .slots = slots, .total = {}});
  }
  return workers;
}

// Slot-milliseconds that each tenant had before `until_ms`.
std::map<std::string, double> Served(const Farm& farm, std::vector<SimJob>& jobs,
                                     int64_t until_ms) {
  static_cast<void>(farm);
  std::map<std::string, double> served;
  for (const SimJob& job : jobs) {
    if (job.start_ms >= 0) {
      served[job.tenant] += static_cast<double>(
          std::max<int64_t>(0, std::min(until_ms, job.start_ms + job.length_ms) - job.start_ms));
    }
  }
  return served;
}

TEST(FarmTest, OneJobNeedNotWaitForTenThousandOfAnother) {
  for (int slots : {1, 2, 8}) {
    Farm farm(Workers(1, slots));
    for (int i = 0; i < 10'000; ++i) {
      farm.Submit("a", 0, 1000);
    }
    farm.Submit("b", 12'345, 1000);
    farm.Run(20'000);
    const SimJob& job = farm.jobs().back();
    ASSERT_GE(job.start_ms, 0);
    EXPECT_LE(job.start_ms - job.submit_ms, 1050) << slots;
  }
}

TEST(FarmTest, EqualTenantsGetEqualShares) {
  std::mt19937_64 random(7);
  Farm farm(Workers(3, 4));
  std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  for (size_t t = 0; t < names.size(); ++t) {
    for (int i = 0; i < 4000; ++i) {
      // Tenants differ in how long their jobs are, not in what they get.
      farm.Submit(names[t], 0, 100 + static_cast<int64_t>(random() % (200 * (t + 1))));
    }
  }
  farm.Run(30'000);
  const auto served = Served(farm, farm.jobs(), 30'000);
  double sum = 0;
  double squares = 0;
  for (const auto& [name, value] : served) {
    sum += value;
    squares += value * value;
  }
  const double jain = sum * sum / (static_cast<double>(names.size()) * squares);
  RecordProperty("jain", std::to_string(jain));
  EXPECT_GE(jain, 0.98);
}

TEST(FarmTest, WeightsOfThreeToOneAreKept) {
  std::mt19937_64 random(8);
  Farm farm(Workers(2, 2));
  farm.queue().SetWeight("heavy", 3);
  for (int i = 0; i < 1000; ++i) {
    for (const char* name : {"heavy", "light"}) {
      farm.Submit(name, 0, 500 + static_cast<int64_t>(random() % 1000));
    }
  }
  const int64_t until_ms = 250'000;  // about 1000 jobs; both still have work
  farm.Run(until_ms);
  auto served = Served(farm, farm.jobs(), until_ms);
  EXPECT_NEAR(served["heavy"] / served["light"], 3.0, 0.15);
}

TEST(FarmTest, BigJobStartsUnderEndlessSmallOnes) {
  std::vector<WorkerRoom> workers = Workers(1, 8);
  workers[0].total.cpus = 8;
  Farm farm(workers);
  std::mt19937_64 random(9);
  for (int i = 0; i < 20'000; ++i) {
    farm.Submit("small", int64_t{i} * 100, 500 + static_cast<int64_t>(random() % 1000), 0,
                {.cpus = 1});
  }
  farm.Submit("big", 100'000, 1000, 0, {.cpus = 8});
  farm.Run();
  const SimJob& big = farm.jobs().back();
  ASSERT_GE(big.start_ms, 0);
  // Fair: the longest of the small ones that run ends within 1500 ms.
  EXPECT_LE(big.start_ms - big.submit_ms, 2 * 1500);
}

TEST(FarmTest, LatePriorityStartsUnderEndlessNormalOnes) {
  Farm farm(Workers(1, 1));
  for (int i = 0; i < 8000; ++i) {
    farm.Submit("t", int64_t{i} * 900, 1000);  // more than the worker can do
  }
  farm.Submit("t", 0, 1000, -20);
  farm.Run();
  const SimJob& late = farm.jobs().back();
  EXPECT_GT(late.start_ms, 10'000);
  EXPECT_LE(late.start_ms, 40 * 60'000);
}

TEST(FarmTest, IdleTenantsSaveUpNothing) {
  Farm farm(Workers(1, 1));
  for (int i = 0; i < 300; ++i) {
    farm.Submit("busy", 0, 1000);
  }
  for (int i = 0; i < 100; ++i) {
    farm.Submit("late", 100'000, 1000);
  }
  farm.Run(200'000);
  int64_t busy = 0;
  for (const SimJob& job : farm.jobs()) {
    busy += job.tenant == "busy" && job.start_ms >= 100'000 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(busy), 50, 2);
}

TEST_F(WorkQueueTest, TenantRunsNoMoreThanItMay) {
  queue_.SetRunningLimit([](const std::string& tenant) { return tenant == "a" ? 2 : 0; });
  for (int id = 1; id <= 3; ++id) {
    queue_.Wait(Work(id, "a", 0, id), 0);
  }
  for (int i = 0; i < 2; ++i) {
    const auto choice = queue_.Choose(room_, 10);
    ASSERT_TRUE(choice.has_value());
    EXPECT_FALSE(queue_.held_back());
    Start(room_, *choice, 10, INT64_MAX, "a");
  }
  EXPECT_FALSE(queue_.Choose(room_, 10).has_value());
  EXPECT_TRUE(queue_.held_back());
  queue_.Wait(Work(4, "b", -100, 10), 10);
  EXPECT_EQ(queue_.Choose(room_, 10)->id, 4);
  queue_.Forget(1, 20);
  EXPECT_EQ(queue_.Choose(room_, 20)->id, 3);
}

}  // namespace
}  // namespace qb::server

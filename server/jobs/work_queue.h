// The order in which waiting work is given to workers.
//
// For a worker with room, the next work is the first by
//   1. band of the effective priority: from 34 on, from -33 on, the rest. The effective priority is
//      the one asked for plus one for each minute waited, at most 50: nothing waits for ever;
//   2. tenant: the one that has had least of the workers' time, in proportion to its weight. Time
//   is
//      counted in shares of a worker, so one job that takes a whole machine counts as much as many
//      small ones. A tenant that was idle starts level with the others and saves up nothing;
//   3. effective priority, then age.
// A tenant that runs as much as it may (RunningLimit) is passed over.
// When that work fits the worker but not what is free of it now, room is kept for it: only work
// that must end before that room is there may go first.
//
// Not thread-safe; a cache of what the store knows, without clocks of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

#include "server/jobs/resources.h"

namespace qb::server {

struct WaitingWork {
  int64_t id = 0;
  std::string tenant;
  int priority = 0;
  int64_t enqueued_ms = 0;
  int64_t run_after_ms = 0;            // not to be started before
  int64_t expires_ms = INT64_MAX;      // not to be started from then on
  int64_t run_timeout_ms = INT64_MAX;  // it ends this long after its start at the latest
  std::string target;
  Resources needs;
  bool prefers_gpu = false;  // gets a GPU when the worker has a free one
};

struct RunningWork {
  int64_t id = 0;
  std::string tenant;
  std::string worker;
  Resources held;
  double cost = 1;  // share of its worker
  int64_t start_ms = 0;
  int64_t latest_end_ms = INT64_MAX;
};

// A worker that asks for work.
struct WorkerRoom {
  std::string worker;
  std::vector<std::string> targets;  // empty: all
  int slots = 1;
  // 0 of cpus, memory_bytes or scratch_bytes: not told, so no limit.
  Resources total;
};

class WorkQueue {
 public:
  struct Choice {
    int64_t id = 0;
    Resources held;
    double cost = 0;
  };

  // How much work of a tenant may run at a time; 0: no limit.
  using RunningLimit = std::function<int64_t(const std::string& tenant)>;

  // Default weight of a tenant: 1.
  void SetWeight(const std::string& tenant, double weight);
  // Default: no limits. Asked at every choice.
  void SetRunningLimit(RunningLimit limit) { running_limit_ = std::move(limit); }

  // The work waits from now on; replaces what is known about it.
  void Wait(WaitingWork work, int64_t now_ms);
  // The work runs from now on.
  void Run(RunningWork work, int64_t now_ms);
  // The work neither waits nor runs any more.
  void Forget(int64_t id, int64_t now_ms);

  // What `room` should start now; to be confirmed by Run. `skip`: ids that must not be chosen.
  std::optional<Choice> Choose(const WorkerRoom& room, int64_t now_ms,
                               const std::set<int64_t>& skip = {});
  // Whether the last choice passed over work only because its tenant runs as much as it may.
  bool held_back() const { return held_back_; }
  // When delayed work becomes ready; absent: nothing is delayed.
  std::optional<int64_t> NextRunAfter() const;

  size_t waiting() const { return waiting_.size(); }
  size_t running() const { return running_.size(); }

 private:
  struct Shape {
    std::string target;
    Resources needs;
    bool prefers_gpu = false;
    auto operator<=>(const Shape&) const = default;  // NOLINT(modernize-use-nullptr): no 0 here
  };
  // By priority, then age.
  using Levels = std::map<int, std::set<std::pair<int64_t, int64_t>>, std::greater<int>>;
  struct Tenant {
    double weight = 1;
    double used = 0;           // share-milliseconds by weight, of what has ended
    double running_cost = 0;   // by weight
    double running_since = 0;  // sum of cost * start, by weight
    int64_t works = 0;         // waiting and running
    int64_t running = 0;
    std::map<Shape, Levels> ready;
  };
  struct Candidate {
    const WaitingWork* work = nullptr;
    int band = 0;
    int effective = 0;
    double tenant_used = 0;
    double tenant_cost = 0;
  };
  struct Reservation {
    std::string worker;
    int64_t seen_ms = 0;
  };
  // Room of a worker that is kept for other work.
  struct KeptRoom {
    int64_t from_ms = 0;
    Resources spare;  // what that work leaves over
  };

  static double Used(const Tenant& tenant, int64_t now_ms);
  bool RunsAllItMay(const std::string& name, const Tenant& tenant) const;
  Tenant& Enter(const std::string& tenant, int64_t now_ms);
  void Drop(int64_t id, int64_t now_ms);
  void MakeReady(int64_t now_ms);
  void AddReady(const WaitingWork& work);
  void RemoveReady(const WaitingWork& work);
  std::vector<Candidate> Candidates(const WorkerRoom& room, int64_t now_ms,
                                    const std::set<int64_t>& skip);
  const WaitingWork* Oldest(const std::set<std::pair<int64_t, int64_t>>& level, int64_t now_ms,
                            const std::set<int64_t>& skip) const;
  Resources Free(const WorkerRoom& room) const;
  int64_t FitsFrom(const WorkerRoom& room, const Resources& needs, int64_t now_ms) const;
  KeptRoom KeepRoom(const WorkerRoom& room, const Resources& needs, int64_t now_ms) const;
  bool Reserve(int64_t id, const std::string& worker, int64_t now_ms);
  static std::optional<Choice> Fit(const WorkerRoom& room, const WaitingWork& work,
                                   const Resources& free, const std::optional<KeptRoom>& kept,
                                   int64_t now_ms);

  RunningLimit running_limit_;
  bool held_back_ = false;
  std::map<std::string, Tenant> tenants_;
  absl::flat_hash_map<int64_t, WaitingWork> waiting_;
  absl::flat_hash_map<int64_t, RunningWork> running_;
  absl::flat_hash_map<std::string, std::set<int64_t>> by_worker_;  // running ids
  std::set<std::pair<int64_t, int64_t>> delayed_;                  // run_after, id
  absl::flat_hash_map<int64_t, Reservation> reservations_;         // by waiting id
};

// The share of a worker that `held` and one slot are, at most 1.
double ShareOf(const WorkerRoom& room, const Resources& held);
// Whether the worker could run such work if it had nothing else to do.
bool CanRun(const WorkerRoom& room, absl::string_view target, const Resources& needs);

}  // namespace qb::server

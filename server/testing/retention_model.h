// What must be kept and what must be gone, by the rules of retention written down a second time: no
// tables, no counters, everything is looked at each time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "server/jobs/job_store.h"
#include "server/jobs/retention_policy.h"

namespace qb::server::testing {

// Files are numbers here.
struct ModelWork {
  std::string tenant;
  std::set<int> inputs;
  std::string action;
  bool running = false;
  bool ended = false;
  int64_t leased_ms = 0;
  AttemptKey key;
  std::optional<int> sent;    // by the worker, not yet reported
  std::optional<int> result;
};

struct ModelJob {
  std::string tenant;
  int64_t work = 0;
  bool attached = true;  // has not left its work
  bool pinned = false;
  std::optional<pb::JobState> end;
  int64_t ended_ms = 0;
};

struct RetentionModel {
  using Owned = std::pair<std::string, int>;  // tenant and file

  RetentionPolicy policy;
  std::map<Owned, int64_t> blobs;  // when they were last used
  std::map<std::pair<std::string, std::string>, int64_t> uploads;  // unfinished: when they moved
  std::map<int64_t, ModelWork> works;
  std::map<std::string, ModelJob> jobs;
  // tenant and action -> the work whose result answers, and when it last did
  std::map<std::pair<std::string, std::string>, std::pair<int64_t, int64_t>> results;

  bool HasAll(const std::string& tenant, const std::set<int>& files) const {
    return std::all_of(files.begin(), files.end(),
                       [&](int file) { return blobs.contains({tenant, file}); });
  }

  // A minute's marks are as good as new ones.
  void Keep(const std::string& tenant, int file, int64_t now_ms) {
    const auto found = blobs.find({tenant, file});
    if (found != blobs.end() && found->second <= now_ms - 60'000) {
      found->second = now_ms;
    }
  }

  // Ends the work and the jobs that hang on it.
  void End(int64_t id, pb::JobState state, int64_t now_ms) {
    ModelWork& work = works.at(id);
    work.running = false;
    work.ended = true;
    for (auto& [name, job] : jobs) {
      if (job.work == id && job.attached) {
        job.end = state;
        job.ended_ms = now_ms;
      }
    }
    if (state == pb::JOB_STATE_SUCCEEDED && !work.action.empty()) {
      results.emplace(std::make_pair(work.tenant, work.action), std::make_pair(id, now_ms));
    }
  }

  int64_t JobsOn(int64_t id) const {
    return std::count_if(jobs.begin(), jobs.end(),
                         [&](const auto& job) { return job.second.work == id; });
  }

  bool IsReferred(const Owned& blob) const {
    return std::any_of(works.begin(), works.end(), [&](const auto& entry) {
      const ModelWork& work = entry.second;
      return work.tenant == blob.first &&
             (work.inputs.contains(blob.second) || work.result == blob.second);
    });
  }

  // What a round at `now_ms` leaves. Returns how many jobs it removes.
  int64_t Collect(int64_t now_ms) {
    const int64_t removed = static_cast<int64_t>(std::erase_if(jobs, [&](const auto& entry) {
      const ModelJob& job = entry.second;
      return job.end.has_value() && !job.pinned &&
             job.ended_ms + policy.KeepMs(*job.end) <= now_ms;
    }));
    std::erase_if(results, [&](const auto& entry) {
      return entry.second.second + policy.results_ms <= now_ms;
    });
    std::erase_if(works, [&](const auto& entry) { return IsForgotten(entry.first, now_ms); });
    std::erase_if(blobs, [&](const auto& entry) { return IsUnused(entry.first, now_ms); });
    std::erase_if(uploads, [&](const auto& entry) {
      return entry.second + policy.unused_ms <= now_ms;
    });
    return removed;
  }

  // Digests that some tenant has.
  std::set<int> Files() const {
    std::set<int> files;
    for (const auto& [blob, used_ms] : blobs) {
      files.insert(blob.second);
    }
    return files;
  }

 private:
  // Its files are unused from now on.
  bool IsForgotten(int64_t id, int64_t now_ms) {
    const ModelWork& work = works.at(id);
    const bool answers = std::any_of(results.begin(), results.end(), [&](const auto& entry) {
      return entry.second.first == id;
    });
    if (!work.ended || answers || JobsOn(id) > 0) {
      return false;
    }
    std::set<int> files = work.inputs;
    if (work.result.has_value()) {
      files.insert(*work.result);
    }
    for (const int file : files) {
      blobs.at({work.tenant, file}) = now_ms;
    }
    return true;
  }

  bool IsUnused(const Owned& blob, int64_t now_ms) const {
    const int64_t used_ms = blobs.at(blob);
    const bool may_be_a_result = std::any_of(works.begin(), works.end(), [&](const auto& entry) {
      const ModelWork& work = entry.second;
      return work.running && work.tenant == blob.first && work.leased_ms <= used_ms;
    });
    return used_ms + policy.unused_ms <= now_ms && !may_be_a_result && !IsReferred(blob);
  }
};

}  // namespace qb::server::testing

// A random walk over everything that clients, agents and clocks can do to a JobStore. The same seed
// gives the same calls as long as the store answers the same, so two forms can be compared step by
// step, and a form that was killed with a model that was not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/digest.h"
#include "server/jobs/job_store.h"

namespace qb::server::testing {

// A file that every walk may name as a result.
inline pb::Artifact WalkArtifact(int which) {
  const std::string bytes = absl::StrCat("result ", which);
  pb::Artifact artifact;
  artifact.set_name("model.mxq");
  artifact.set_sha256(Sha256Hex(bytes));
  artifact.set_size_bytes(static_cast<int64_t>(bytes.size()));
  return artifact;
}
inline constexpr int kWalkArtifacts = 2;

class StoreWalk {
 public:
  // What a call answered, as text, and the leases that it gave.
  struct Outcome {
    std::string text;
    std::vector<AttemptKey> leased;
  };
  using Call = std::function<Outcome(JobStore&)>;

  explicit StoreWalk(uint64_t seed) : random_(seed) {}

  // The next call. Made from what Learn was told; changes nothing in a store by itself.
  Call Next() {
    now_ms_ += Draw(700);
    switch (ids_.empty() ? 0 : Draw(14)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return NextSubmit();
      case 4:
      case 5:
      case 6:
        return NextLease();
      case 7:
      case 8:
        return NextComplete();
      case 9:
        return NextEvents();
      case 10:
      case 11:
        return NextCancel();
      case 12:
        return NextLoss();
      default:
        now_ms_ += Draw(4) == 0 ? 100'000 : 0;
        return NextExpiry();
    }
  }

  void Learn(const Outcome& outcome) {
    keys_.insert(keys_.end(), outcome.leased.begin(), outcome.leased.end());
  }

  // Everything that can be read, as text.
  std::string Snapshot(JobStore& store) const {
    std::string text;
    for (const std::string& id : ids_) {
      const auto job = store.GetJob("default", id);
      absl::StrAppend(&text, id, ": ", Show(job), "\n");
      const auto position = store.FindJob("default", id);
      if (position.ok()) {
        const auto events = store.ReadEvents(position->job, 0, 100'000, INT64_MAX);
        for (const pb::JobEvent& event : events.value_or(std::vector<pb::JobEvent>())) {
          absl::StrAppend(&text, "  ", event.ShortDebugString(), "\n");
        }
      }
    }
    auto live = store.ListLiveAttempts().value_or(std::vector<LiveAttempt>());
    std::sort(live.begin(), live.end(),
              [](const LiveAttempt& a, const LiveAttempt& b) { return a.key.fence < b.key.fence; });
    for (const LiveAttempt& attempt : live) {
      absl::StrAppend(&text, "live ", Show(attempt), "\n");
    }
    JobQuery query{.tenant = "default", .limit = 7, .full = true};
    for (bool more = true; more;) {
      const JobPage page = store.ListJobs(query).value_or(JobPage());
      for (const pb::Job& job : page.jobs) {
        absl::StrAppend(&text, "listed ", job.id(), " ", job.state(), "\n");
      }
      query.before_row = page.next_before_row;
      more = page.next_before_row > 0;
    }
    query = {.tenant = "default", .limit = 1000};
    const ChangedJobs changed = store.ReadChangedJobs(query, 0).value_or(ChangedJobs());
    for (const pb::Job& job : changed.jobs) {
      absl::StrAppend(&text, "changed ", job.id(), "\n");
    }
    absl::StrAppend(&text, "revision ", changed.revision, "\n");
    for (const auto& [state, count] :
         store.CountJobs("default").value_or(std::map<pb::JobState, int64_t>())) {
      absl::StrAppend(&text, "count ", state, " ", count, "\n");
    }
    return text;
  }

 private:
  int Draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  std::string AnyId() { return ids_[static_cast<size_t>(Draw(static_cast<int>(ids_.size())))]; }

  // Stale ones too: agents do report about attempts that they have lost.
  AttemptKey AnyKey() {
    if (keys_.empty() || Draw(20) == 0) {
      return {Draw(5), Draw(3), Draw(9)};
    }
    // Mostly a young one, so that something lives.
    const int size = static_cast<int>(keys_.size());
    const int back = std::min(size, 1 + Draw(Draw(3) == 0 ? size : std::min(size, 4)));
    return keys_[static_cast<size_t>(size - back)];
  }

  static std::string Show(const LiveAttempt& attempt) {
    return absl::StrCat(attempt.key.execution, "/", attempt.key.attempt, "/", attempt.key.fence,
                        " ", attempt.worker_id, " ", attempt.epoch, " ", attempt.cancel_requested,
                        " ", attempt.run_timeout_ms);
  }
  static std::string Show(const absl::StatusOr<pb::Job>& job) {
    return job.ok() ? job->ShortDebugString() : job.status().ToString();
  }

  Call NextSubmit() {
    NewJob job;
    job.tenant = "default";
    ids_.push_back(absl::StrCat("job-", ids_.size() + 1));
    job.id = ids_.back();
    if (Draw(3) == 0) {
      job.request_id = absl::StrCat("r", Draw(10));
      job.request_fingerprint = absl::StrCat("f", Draw(2));
    }
    job.spec.set_target_device(Draw(4) == 0 ? "regulus-ra" : "aries-rb");
    job.spec.set_priority(Draw(5) - 2);
    job.spec.mutable_queue_ttl()->set_seconds(Draw(3) == 0 ? 60 : 100'000);
    job.spec.mutable_run_timeout()->set_seconds(Draw(4) == 0 ? 50 : 60);
    job.spec.set_cache_policy(static_cast<pb::CachePolicy>(Draw(4)));
    if (Draw(3) > 0) {
      job.action = absl::StrCat("action ", Draw(6));
    }
    if (Draw(3) == 0) {
      job.compiler_builds = {Draw(2) == 0 ? "one" : "two"};
    }
    job.needs.cpus = Draw(3);
    job.needs.gpus = Draw(5) == 0 ? 1 : 0;
    job.prefers_gpu = Draw(2) == 0;
    job.resolved_config_json = "{}";
    job.now_ms = now_ms_;
    return [job](JobStore& store) {
      const auto outcome = store.Submit(job);
      return Outcome{outcome.ok() ? absl::StrCat(outcome->replayed, " ", Show(outcome->job))
                                  : outcome.status().ToString(),
                     {}};
    };
  }

  Call NextLease() {
    LeaseQuery query;
    query.worker_id = absl::StrCat("w", Draw(3));
    query.epoch = "e";
    query.compiler_build = Draw(3) == 0 ? "two" : "one";
    if (Draw(4) == 0) {
      query.targets = {"regulus-ra"};
    }
    query.slots = 4;
    query.total = {.cpus = 4, .gpus = 1};
    query.count = 1 + Draw(3);
    query.now_ms = now_ms_;
    return [query](JobStore& store) {
      Outcome out;
      const auto outcome = store.Lease(query);
      if (!outcome.ok()) {
        out.text = outcome.status().ToString();
        return out;
      }
      for (const LeasedAttempt& leased : outcome->leased) {
        out.leased.push_back(leased.attempt.key);
        absl::StrAppend(&out.text, Show(leased.attempt), " ", leased.job_id, " ", leased.gpus, " ",
                        leased.spec.ShortDebugString(), "\n");
      }
      absl::StrAppend(&out.text, "next ", outcome->next_run_after_ms.value_or(-1));
      return out;
    };
  }

  Call NextComplete() {
    static constexpr pb::AttemptOutcome kOutcomes[] = {
        pb::ATTEMPT_OUTCOME_SUCCEEDED, pb::ATTEMPT_OUTCOME_SUCCEEDED, pb::ATTEMPT_OUTCOME_FAILED,
        pb::ATTEMPT_OUTCOME_CANCELLED, pb::ATTEMPT_OUTCOME_LOST,      pb::ATTEMPT_OUTCOME_RELEASED};
    Completion completion;
    completion.outcome = kOutcomes[Draw(6)];
    if (completion.outcome == pb::ATTEMPT_OUTCOME_SUCCEEDED) {
      completion.artifacts = {WalkArtifact(Draw(10) == 0 ? 1 : 0)};
      if (Draw(15) == 0) {
        completion.artifacts[0].set_size_bytes(1);  // never stored
      }
      completion.result_json = "{\"ok\": true}";
    } else {
      completion.failure.set_reason_name(Draw(2) == 0 ? "MODEL_PARSE_ERROR" : "");
      completion.failure.set_message("why");
    }
    completion.usage.set_exit_code(Draw(3));
    completion.now_ms = now_ms_;
    return [completion, key = AnyKey()](JobStore& store) {
      const auto outcome = store.Complete(key, completion);
      return Outcome{outcome.ok() ? absl::StrCat(outcome->state, " ", outcome->replayed)
                                  : outcome.status().ToString(),
                     {}};
    };
  }

  Call NextEvents() {
    const AttemptKey key = AnyKey();
    int64_t& sent = sent_[key.fence];
    std::vector<pb::AttemptEvent> events;
    const int64_t first = std::max<int64_t>(1, sent + Draw(4) - 1);  // again, next, or a gap
    for (int64_t seq = first; seq < first + 1 + Draw(4); ++seq) {
      pb::AttemptEvent event;
      event.set_seq(seq);
      if (Draw(3) == 0) {
        event.mutable_phase()->set_phase("phase");
      } else if (Draw(3) == 0) {
        event.mutable_log()->set_message("text");
      } else {
        event.mutable_progress()->set_fraction(Draw(100) / 100.0);
      }
      events.push_back(event);
    }
    sent = events.back().seq();
    return [events, key, now_ms = now_ms_](JobStore& store) {
      const auto outcome = store.AppendEvents(key, events, now_ms);
      return Outcome{outcome.ok()
                         ? absl::StrCat(outcome->committed_seq, " ", outcome->cancel_requested)
                         : outcome.status().ToString(),
                     {}};
    };
  }

  Call NextCancel() {
    return [id = Draw(20) == 0 ? std::string("nobody") : AnyId(), reason = Draw(2) == 0 ? "" : "no",
            now_ms = now_ms_](JobStore& store) {
      const auto outcome = store.RequestCancel("default", id, reason, now_ms);
      if (!outcome.ok()) {
        return Outcome{outcome.status().ToString(), {}};
      }
      return Outcome{absl::StrCat(Show(outcome->job), " ",
                                  outcome->running.has_value() ? Show(*outcome->running) : "-"),
                     {}};
    };
  }

  Call NextLoss() {
    const std::vector<AttemptKey> keys = {AnyKey(), AnyKey()};
    return [keys, now_ms = now_ms_](JobStore& store) {
      return Outcome{store.LoseAttempts(keys, "gone", now_ms).ToString(), {}};
    };
  }

  Call NextExpiry() {
    return [now_ms = now_ms_](JobStore& store) {
      const auto expired = store.ExpireQueued(now_ms);
      return Outcome{expired.ok() ? absl::StrCat(*expired) : expired.status().ToString(), {}};
    };
  }

  std::mt19937_64 random_;
  int64_t now_ms_ = 1'700'000'000'000;
  std::vector<std::string> ids_;
  std::vector<AttemptKey> keys_;
  std::map<int64_t, int64_t> sent_;
};

}  // namespace qb::server::testing

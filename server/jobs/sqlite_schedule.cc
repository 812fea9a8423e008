#include "server/jobs/sqlite_schedule.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"

namespace qb::server {
namespace {

// The column numbers below count in this list.
constexpr char kSelect[] =
    "SELECT e.state, e.tenant, e.priority, e.enqueued_ms, e.run_after_ms, e.expires_ms, "
    "e.run_timeout_ms, e.target, e.cpus, e.memory_bytes, e.gpus, e.scratch_bytes, e.prefers_gpu, "
    "e.attempt, a.worker, a.leased_ms, a.gpus, a.cost_ppm FROM execution AS e "
    "LEFT JOIN attempt AS a ON a.execution = e.id AND a.attempt = e.attempt WHERE e.id = ?";

Resources NeedsAt(const SqliteQuery& query) {
  return Resources{query.IntAt(8), query.IntAt(9), query.IntAt(10), query.IntAt(11)};
}

int64_t TimeoutAt(const SqliteQuery& query) {
  return query.IntAt(6) > 0 ? query.IntAt(6) : INT64_MAX;
}

WaitingWork WaitingAt(const SqliteQuery& query, int64_t execution) {
  WaitingWork work;
  work.id = execution;
  work.tenant = std::string(query.TextAt(1));
  work.priority = static_cast<int>(query.IntAt(2));
  work.enqueued_ms = query.IntAt(3);
  work.run_after_ms = query.IntAt(4);
  // Only what never had an attempt expires.
  work.expires_ms = query.IntAt(13) == 0 ? query.IntAt(5) : INT64_MAX;
  work.run_timeout_ms = TimeoutAt(query);
  work.target = std::string(query.TextAt(7));
  work.needs = NeedsAt(query);
  work.prefers_gpu = query.IntAt(12) != 0;
  return work;
}

RunningWork RunningAt(const SqliteQuery& query, int64_t execution) {
  RunningWork work;
  work.id = execution;
  work.tenant = std::string(query.TextAt(1));
  work.worker = std::string(query.TextAt(14));
  work.held = NeedsAt(query);
  work.held.gpus = query.IntAt(16);
  work.cost = static_cast<double>(query.IntAt(17)) / 1e6;
  work.start_ms = query.IntAt(15);
  const int64_t timeout_ms = TimeoutAt(query);
  work.latest_end_ms = timeout_ms == INT64_MAX ? INT64_MAX : work.start_ms + timeout_ms;
  return work;
}

}  // namespace

absl::Status SqliteSchedule::Load(SqliteConnection& db, int64_t execution, int64_t now_ms) {
  SqliteQuery query = db.Prepare(kSelect);
  query.Int(execution);
  QB_ASSIGN_OR_RETURN(const bool found, query.Step());
  const auto state = found ? static_cast<pb::JobState>(query.IntAt(0)) : pb::JOB_STATE_UNSPECIFIED;
  if (IsWaiting(state)) {
    queue_.Wait(WaitingAt(query, execution), now_ms);
  } else if (state == pb::JOB_STATE_RUNNING || state == pb::JOB_STATE_CANCELLING) {
    queue_.Run(RunningAt(query, execution), now_ms);
  } else {
    queue_.Forget(execution, now_ms);
  }
  return absl::OkStatus();
}

absl::Status SqliteSchedule::LoadAll(SqliteConnection& db, int64_t now_ms) {
  SqliteQuery tenants = db.Prepare("SELECT id, weight FROM tenant");
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, tenants.Step());
    if (!row) {
      break;
    }
    queue_.SetWeight(std::string(tenants.TextAt(0)), static_cast<double>(tenants.IntAt(1)));
  }
  // The states stand here as in the index.
  SqliteQuery query = db.Prepare("SELECT id FROM execution WHERE state IN (1, 2, 3, 4)");
  std::vector<int64_t> ids;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      break;
    }
    ids.push_back(query.IntAt(0));
  }
  for (int64_t id : ids) {
    QB_RETURN_IF_ERROR(Load(db, id, now_ms));
  }
  return absl::OkStatus();
}

absl::Status SqliteSchedule::Refresh(WriteTx& tx, int64_t now_ms) {
  if (!loaded_) {
    QB_RETURN_IF_ERROR(LoadAll(tx.db, now_ms));
    loaded_ = true;
    // What moved before stays in the list: if this batch fails, it is read once more.
  }
  for (; tx.moved.seen < tx.moved.ids.size(); ++tx.moved.seen) {
    QB_RETURN_IF_ERROR(Load(tx.db, tx.moved.ids[tx.moved.seen], now_ms));
  }
  return absl::OkStatus();
}

}  // namespace qb::server

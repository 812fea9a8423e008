#include "server/jobs/sqlite_statistics.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/status_macros.h"
#include "proto/qbc/v1/worker_service.pb.h"
#include "server/jobs/job_state.h"
#include "server/jobs/sqlite_sharing.h"

namespace qb::server {
namespace {

constexpr int64_t kMostFinished = 10'000;

absl::StatusOr<int64_t> ReadRevisionIn(SqliteConnection& db) {
  SqliteQuery query = db.Prepare("SELECT value FROM meta WHERE key = 'revision'");
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  return row ? query.IntAt(0) : 0;
}

absl::StatusOr<std::vector<std::string>> ReadTenants(SqliteConnection& db) {
  std::vector<std::string> tenants;
  SqliteQuery query = db.Prepare("SELECT id FROM tenant ORDER BY id");
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return tenants;
    }
    tenants.emplace_back(query.TextAt(0));
  }
}

FinishedJob JobAt(const SqliteQuery& query) {
  FinishedJob job;
  job.state = static_cast<qbc::v1::JobState>(query.IntAt(0));
  job.revision = query.IntAt(6);
  const int64_t created_ms = query.IntAt(1);
  const int64_t finished_ms = query.IntAt(3);
  job.cache_hit = query.IntAt(5) == static_cast<int>(JobJoin::kCached);
  const bool ran = !query.IsNull(2) && !job.cache_hit;
  const int64_t started_ms = ran ? std::max(query.IntAt(2), created_ms) : finished_ms;
  job.queued_ms = std::max<int64_t>(started_ms - created_ms, 0);
  if (ran) {
    job.run_ms = std::max<int64_t>(finished_ms - started_ms, 0);
  }
  qbc::v1::JobFailure failure;
  if (!query.IsNull(4) &&
      failure.ParseFromArray(query.TextAt(4).data(), static_cast<int>(query.TextAt(4).size()))) {
    job.reason = failure.reason();
  }
  return job;
}

// Returns how far it came: the last revision that was looked at, or nothing when all were.
absl::StatusOr<std::optional<int64_t>> ReadFinishedOf(
    SqliteConnection& db, const std::string& tenant, int64_t revision,
    const std::function<void(const FinishedJob&)>& each) {
  SqliteQuery query = db.Prepare(
      "SELECT job.state, job.created_ms, e.started_ms, ifnull(job.finished_ms, "
      "ifnull(e.finished_ms, job.created_ms)), ifnull(job.failure, e.failure), job.joined, "
      "job.revision FROM job JOIN execution AS e ON e.id = job.execution "
      "WHERE job.tenant = ? AND job.revision > ? ORDER BY job.revision LIMIT ?");
  query.Text(tenant).Int(revision).Int(kMostFinished);
  int64_t rows = 0;
  int64_t last = revision;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return rows == kMostFinished ? std::optional<int64_t>(last) : std::nullopt;
    }
    ++rows;
    const FinishedJob job = JobAt(query);
    last = job.revision;
    if (IsTerminal(job.state)) {
      each(job);
    }
  }
}

}  // namespace

absl::StatusOr<StoreStatistics> SqliteStatistics::Read(int64_t now_ms) {
  StoreStatistics statistics;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery counts = db.Prepare("SELECT state, sum(n) FROM counter GROUP BY state");
    while (true) {
      QB_ASSIGN_OR_RETURN(const bool row, counts.Step());
      if (!row) {
        break;
      }
      statistics.jobs[static_cast<qbc::v1::JobState>(counts.IntAt(0))] = counts.IntAt(1);
    }
    // The first condition is that of the index execution_live, word for word.
    SqliteQuery waiting = db.Prepare(
        "SELECT CASE WHEN p >= 34 THEN 0 WHEN p >= -33 THEN 1 ELSE 2 END, count(*), "
        "min(CASE WHEN state = 1 THEN enqueued_ms END) FROM (SELECT state, enqueued_ms, priority + "
        "max(0, min(50, (? - enqueued_ms) / 60000)) AS p FROM execution WHERE state IN (1, 2, 3, "
        "4) AND state IN (1, 3)) GROUP BY 1");
    waiting.Int(now_ms);
    while (true) {
      QB_ASSIGN_OR_RETURN(const bool row, waiting.Step());
      if (!row) {
        return absl::OkStatus();
      }
      statistics.waiting[static_cast<size_t>(waiting.IntAt(0))] = waiting.IntAt(1);
      if (!waiting.IsNull(2)) {
        statistics.oldest_queued_ms =
            std::min(statistics.oldest_queued_ms.value_or(INT64_MAX), waiting.IntAt(2));
      }
    }
  }));
  return statistics;
}

absl::StatusOr<BlobStatistics> SqliteStatistics::ReadBlobs() {
  BlobStatistics statistics;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query = db.Prepare("SELECT count(*), ifnull(sum(size_bytes), 0) FROM blob");
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (row) {
      statistics = {query.IntAt(0), query.IntAt(1)};
    }
    return absl::OkStatus();
  }));
  return statistics;
}

absl::StatusOr<std::map<std::string, WorkerGpus>> SqliteStatistics::ReadGpus() {
  std::map<std::string, WorkerGpus> found;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query = db.Prepare(
        "SELECT id, capabilities, (SELECT ifnull(sum(gpus), 0) FROM attempt WHERE state = 1 AND "
        "attempt.worker = worker.id) FROM worker");
    while (true) {
      QB_ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) {
        return absl::OkStatus();
      }
      qbc::v1::WorkerCapabilities capabilities;
      if (capabilities.ParseFromArray(query.TextAt(1).data(),
                                      static_cast<int>(query.TextAt(1).size())) &&
          capabilities.gpus_size() > 0) {
        found[std::string(query.TextAt(0))] = {capabilities.gpus_size(), query.IntAt(2)};
      }
    }
  }));
  return found;
}

absl::StatusOr<int64_t> SqliteStatistics::ReadRevision() {
  int64_t revision = 0;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    QB_ASSIGN_OR_RETURN(revision, ReadRevisionIn(db));
    return absl::OkStatus();
  }));
  return revision;
}

absl::StatusOr<int64_t> SqliteStatistics::ReadFinished(
    int64_t revision, const std::function<void(const FinishedJob&)>& each) {
  int64_t end = revision;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    QB_ASSIGN_OR_RETURN(end, ReadRevisionIn(db));
    QB_ASSIGN_OR_RETURN(const std::vector<std::string> tenants, ReadTenants(db));
    // Two passes, so that no job is told twice when one tenant has more than a read may take.
    std::vector<std::vector<FinishedJob>> found(tenants.size());
    for (size_t i = 0; i < tenants.size(); ++i) {
      QB_ASSIGN_OR_RETURN(const std::optional<int64_t> stopped,
                          ReadFinishedOf(db, tenants[i], revision,
                                         [&](const FinishedJob& job) { found[i].push_back(job); }));
      end = std::min(end, stopped.value_or(end));
    }
    for (const std::vector<FinishedJob>& jobs : found) {
      for (const FinishedJob& job : jobs) {
        if (job.revision <= end) {
          each(job);
        }
      }
    }
    return absl::OkStatus();
  }));
  return end;
}

}  // namespace qb::server

#include "server/jobs/sqlite_access_index.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/jobs/sqlite_execution.h"
#include "server/jobs/sqlite_job_reader.h"

namespace qb::server {
namespace {

constexpr size_t kMaxReaders = 100;

// The text in the first column of the only row, or NotFound with `what`.
absl::StatusOr<std::string> OneText(SqliteQuery& query, absl::string_view what) {
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row) {
    return absl::NotFoundError(what);
  }
  return std::string(query.TextAt(0));
}

absl::StatusOr<std::vector<std::string>> ReadReaders(SqliteConnection& db, int64_t job) {
  SqliteQuery query = db.Prepare("SELECT tenant FROM job_share WHERE job = ? ORDER BY tenant");
  query.Int(job);
  std::vector<std::string> readers;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return readers;
    }
    readers.emplace_back(query.TextAt(0));
  }
}

absl::Status ChangeShare(SqliteConnection& db, int64_t job, absl::string_view reader, bool shared,
                         int64_t now_ms) {
  return shared ? db.Prepare(
                        "INSERT OR IGNORE INTO job_share(job, tenant, shared_ms) VALUES "
                        "(?, ?, ?)")
                      .Int(job)
                      .Text(reader)
                      .Int(now_ms)
                      .Run()
                : db.Prepare("DELETE FROM job_share WHERE job = ? AND tenant = ?")
                      .Int(job)
                      .Text(reader)
                      .Run();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SqliteAccessIndex::SetShare(absl::string_view owner,
                                                                     absl::string_view job_id,
                                                                     absl::string_view reader,
                                                                     bool shared, int64_t now_ms) {
  std::vector<std::string> readers;
  QB_RETURN_IF_ERROR(database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    QB_ASSIGN_OR_RETURN(const JobPosition position, ReadPosition(tx.db, owner, job_id));
    if (owner == reader) {
      return absl::InvalidArgumentError("tenant: the job is this tenant's own");
    }
    QB_RETURN_IF_ERROR(ChangeShare(tx.db, position.job, reader, shared, now_ms));
    QB_ASSIGN_OR_RETURN(readers, ReadReaders(tx.db, position.job));
    return readers.size() <= kMaxReaders
               ? absl::OkStatus()
               : absl::ResourceExhaustedError(
                     absl::StrCat("a job is shared with at most ", kMaxReaders, " tenants"));
  }));
  return readers;
}

absl::Status SqliteAccessIndex::SetPinned(absl::string_view owner, absl::string_view job_id,
                                          bool pinned) {
  return database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    QB_ASSIGN_OR_RETURN(const JobPosition position, ReadPosition(tx.db, owner, job_id));
    return tx.db.Prepare("UPDATE job SET pinned = ? WHERE id = ?")
        .Int(pinned ? 1 : 0)
        .Int(position.job)
        .Run();
  });
}

absl::StatusOr<std::string> SqliteAccessIndex::FindSharer(absl::string_view reader,
                                                          absl::string_view job_id) {
  std::string owner;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query = db.Prepare(
        "SELECT job.tenant FROM job JOIN job_share AS s ON s.job = job.id "
        "WHERE job.uid = ? AND s.tenant = ?");
    query.Text(job_id).Text(reader);
    QB_ASSIGN_OR_RETURN(owner, OneText(query, absl::StrCat("no job '", job_id, "'")));
    return absl::OkStatus();
  }));
  return owner;
}

absl::StatusOr<std::string> SqliteAccessIndex::FindBlobSharer(absl::string_view reader,
                                                              absl::string_view sha256) {
  std::string owner;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    // 10: SUCCEEDED. A job that left its work before has no part in the result.
    SqliteQuery query = db.Prepare(
        "SELECT job.tenant FROM artifact AS a JOIN job ON job.execution = a.execution "
        "JOIN job_share AS s ON s.job = job.id "
        "WHERE a.sha256 = ? AND job.state = 10 AND s.tenant = ? LIMIT 1");
    query.Text(sha256).Text(reader);
    QB_ASSIGN_OR_RETURN(owner, OneText(query, absl::StrCat("no blob ", sha256)));
    return absl::OkStatus();
  }));
  return owner;
}

absl::StatusOr<std::string> SqliteAccessIndex::TenantOfAttempt(const AttemptKey& key) {
  std::string tenant;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    QB_ASSIGN_OR_RETURN(const ExecutionRow row, LoadCurrent(db, key));
    tenant = row.tenant;
    return absl::OkStatus();
  }));
  return tenant;
}

absl::Status EnsureTenant(SqliteConnection& db, absl::string_view tenant, int64_t now_ms) {
  return db.Prepare("INSERT OR IGNORE INTO tenant(id, name, created_ms) VALUES (?, ?, ?)")
      .Text(tenant)
      .Text(tenant)
      .Int(now_ms)
      .Run();
}

}  // namespace qb::server

// The half of SqliteBlobIndex that takes blobs away.
#include <algorithm>
#include <map>

#include "core/base/status_macros.h"
#include "server/jobs/sqlite_blob_index.h"

namespace qb::server {
namespace {

// Results that a live attempt may have sent and not yet reported came after its lease.
absl::StatusOr<int64_t> OldestLease(SqliteConnection& db, const std::string& tenant) {
  SqliteQuery query = db.Prepare(
      "SELECT ifnull(min(a.leased_ms), 9223372036854775807) FROM attempt AS a JOIN execution AS e "
      "ON e.id = a.execution WHERE a.state = 1 AND e.tenant = ?");
  query.Text(tenant);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  return row ? query.IntAt(0) : INT64_MAX;
}

// The counter finds candidates quickly; what it stands for is asked again before anything goes.
absl::StatusOr<bool> IsUnused(SqliteConnection& db, const UnusedBlob& blob, int64_t before_ms) {
  SqliteQuery query = db.Prepare(
      "SELECT 1 FROM blob_ref AS b WHERE b.tenant = ? AND b.sha256 = ? AND b.refs = 0 AND "
      "b.used_ms <= ? AND NOT EXISTS (SELECT 1 FROM file_set_blob AS f WHERE f.tenant = b.tenant "
      "AND f.sha256 = b.sha256) AND NOT EXISTS (SELECT 1 FROM artifact AS a JOIN execution AS e ON "
      "e.id = a.execution WHERE a.sha256 = b.sha256 AND e.tenant = b.tenant)");
  query.Text(blob.tenant).Text(blob.sha256).Int(before_ms);
  return query.Step();
}

// True when nobody had the blob any more: then it is doomed.
absl::StatusOr<bool> RemoveRef(SqliteConnection& db, const UnusedBlob& blob) {
  QB_RETURN_IF_ERROR(db.Prepare("DELETE FROM blob_ref WHERE tenant = ? AND sha256 = ?")
                         .Text(blob.tenant)
                         .Text(blob.sha256)
                         .Run());
  SqliteQuery others = db.Prepare("SELECT 1 FROM blob_ref WHERE sha256 = ? LIMIT 1");
  others.Text(blob.sha256);
  QB_ASSIGN_OR_RETURN(const bool wanted, others.Step());
  if (wanted) {
    return false;
  }
  QB_RETURN_IF_ERROR(others.Run());
  QB_RETURN_IF_ERROR(db.Prepare("DELETE FROM blob WHERE sha256 = ?").Text(blob.sha256).Run());
  QB_RETURN_IF_ERROR(
      db.Prepare("INSERT INTO doomed(kind, name) VALUES (1, ?)").Text(blob.sha256).Run());
  return true;
}

}  // namespace

absl::StatusOr<bool> SqliteBlobIndex::RemoveOldUpload(const UploadRecord& upload,
                                                      int64_t before_ms) {
  bool removed = false;
  QB_RETURN_IF_ERROR(database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    QB_RETURN_IF_ERROR(
        tx.db.Prepare("DELETE FROM upload WHERE tenant = ? AND id = ? AND updated_ms <= ?")
            .Text(upload.tenant)
            .Text(upload.id)
            .Int(before_ms)
            .Run());
    removed = tx.db.Changes() > 0;
    return absl::OkStatus();
  }));
  return removed;
}

absl::StatusOr<std::vector<UnusedBlob>> SqliteBlobIndex::FindUnused(
    int64_t before_ms, const std::optional<UnusedBlob>& after, int limit) {
  const UnusedBlob from = after.value_or(UnusedBlob{"", "", INT64_MIN});
  std::vector<UnusedBlob> blobs;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query = db.Prepare(
        "SELECT tenant, sha256, used_ms FROM blob_ref WHERE refs = 0 AND used_ms <= ? AND "
        "(used_ms, tenant, sha256) > (?, ?, ?) ORDER BY used_ms, tenant, sha256 LIMIT ?");
    query.Int(before_ms).Int(from.used_ms).Text(from.tenant).Text(from.sha256).Int(limit);
    while (true) {
      QB_ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) {
        return absl::OkStatus();
      }
      blobs.push_back(
          {std::string(query.TextAt(0)), std::string(query.TextAt(1)), query.IntAt(2)});
    }
  }));
  return blobs;
}

absl::StatusOr<std::vector<std::string>> SqliteBlobIndex::RemoveUnused(
    absl::Span<const UnusedBlob> blobs, int64_t before_ms) {
  std::vector<std::string> doomed;
  QB_RETURN_IF_ERROR(database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    std::map<std::string, int64_t> oldest;  // lease, by tenant
    for (const UnusedBlob& blob : blobs) {
      const auto [lease, is_new] = oldest.emplace(blob.tenant, 0);
      if (is_new) {
        QB_ASSIGN_OR_RETURN(lease->second, OldestLease(tx.db, blob.tenant));
      }
      QB_ASSIGN_OR_RETURN(const bool unused,
                          IsUnused(tx.db, blob, std::min(before_ms, lease->second - 1)));
      if (!unused) {
        continue;
      }
      QB_ASSIGN_OR_RETURN(const bool gone, RemoveRef(tx.db, blob));
      if (gone) {
        doomed.push_back(blob.sha256);
      }
    }
    return absl::OkStatus();
  }));
  return doomed;
}

absl::StatusOr<std::vector<std::string>> SqliteBlobIndex::ListDoomed() {
  std::vector<std::string> digests;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query = db.Prepare("SELECT name FROM doomed WHERE kind = 1");
    while (true) {
      QB_ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) {
        return absl::OkStatus();
      }
      digests.emplace_back(query.TextAt(0));
    }
  }));
  return digests;
}

absl::Status SqliteBlobIndex::ForgetDoomed(absl::Span<const std::string> digests) {
  if (digests.empty()) {
    return absl::OkStatus();
  }
  return database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    for (const std::string& digest : digests) {
      QB_RETURN_IF_ERROR(
          tx.db.Prepare("DELETE FROM doomed WHERE kind = 1 AND name = ?").Text(digest).Run());
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<std::string>> SqliteBlobIndex::FindUnknown(
    absl::Span<const std::string> digests) {
  std::vector<std::string> unknown;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    for (const std::string& digest : digests) {
      SqliteQuery query = db.Prepare("SELECT 1 FROM blob WHERE sha256 = ?");
      query.Text(digest);
      QB_ASSIGN_OR_RETURN(const bool known, query.Step());
      if (!known) {
        unknown.push_back(digest);
      }
    }
    return absl::OkStatus();
  }));
  return unknown;
}

}  // namespace qb::server

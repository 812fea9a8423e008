#include "server/jobs/sqlite_blob_index.h"

#include <algorithm>

#include "core/base/status_macros.h"
#include "server/jobs/sqlite_access_index.h"

namespace qb::server {
namespace {

#define QB_UPLOAD_COLUMNS "SELECT tenant, id, sha256, size_bytes, committed_bytes FROM upload "

UploadRecord UploadOfRow(const SqliteQuery& query) {
  return UploadRecord{std::string(query.TextAt(0)), std::string(query.TextAt(1)),
                      std::string(query.TextAt(2)), query.IntAt(3), query.IntAt(4)};
}

// What was used less than this ago needs no new mark: no blob is removed that soon.
constexpr int64_t kFreshMs = 60'000;

struct FoundBlob {
  std::optional<int64_t> size_bytes;  // absent: not stored for this tenant
  int64_t used_ms = 0;
};

absl::StatusOr<std::vector<FoundBlob>> Find(SqliteConnection& db, absl::string_view tenant,
                                            absl::Span<const std::string> digests) {
  std::vector<FoundBlob> found;
  found.reserve(digests.size());
  for (const std::string& digest : digests) {
    SqliteQuery query = db.Prepare(
        "SELECT size_bytes, used_ms FROM blob_ref JOIN blob USING (sha256) WHERE tenant = ? AND "
        "sha256 = ?");
    query.Text(tenant).Text(digest);
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    found.push_back(row ? FoundBlob{query.IntAt(0), query.IntAt(1)} : FoundBlob());
  }
  return found;
}

std::vector<std::optional<int64_t>> SizesOf(absl::Span<const FoundBlob> found) {
  std::vector<std::optional<int64_t>> sizes;
  sizes.reserve(found.size());
  for (const FoundBlob& blob : found) {
    sizes.push_back(blob.size_bytes);
  }
  return sizes;
}

absl::StatusOr<std::vector<UploadRecord>> ReadUploads(SqliteQuery& query) {
  std::vector<UploadRecord> uploads;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return uploads;
    }
    uploads.push_back(UploadOfRow(query));
  }
}

absl::Status RemoveUploadInTx(WriteTx& tx, absl::string_view tenant, absl::string_view id) {
  return tx.db.Prepare("DELETE FROM upload WHERE tenant = ? AND id = ?")
      .Text(tenant)
      .Text(id)
      .Run();
}

}  // namespace

absl::StatusOr<std::vector<std::optional<int64_t>>> SqliteBlobIndex::FindSizes(
    absl::string_view tenant, absl::Span<const std::string> digests) {
  std::vector<std::optional<int64_t>> sizes;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    QB_ASSIGN_OR_RETURN(const std::vector<FoundBlob> found, Find(db, tenant, digests));
    sizes = SizesOf(found);
    return absl::OkStatus();
  }));
  return sizes;
}

absl::StatusOr<std::vector<std::optional<int64_t>>> SqliteBlobIndex::FindAndKeep(
    absl::string_view tenant, absl::Span<const std::string> digests, int64_t now_ms) {
  std::vector<FoundBlob> found;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    QB_ASSIGN_OR_RETURN(found, Find(db, tenant, digests));
    return absl::OkStatus();
  }));
  const bool fresh = std::all_of(found.begin(), found.end(), [&](const FoundBlob& blob) {
    return !blob.size_bytes.has_value() || blob.used_ms > now_ms - kFreshMs;
  });
  if (fresh) {
    return SizesOf(found);  // nearly always, and without a write
  }
  QB_RETURN_IF_ERROR(database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    for (const std::string& digest : digests) {
      QB_RETURN_IF_ERROR(
          tx.db
              .Prepare("UPDATE blob_ref SET used_ms = max(used_ms, ?) WHERE tenant = ? AND sha256 "
                       "= ?")
              .Int(now_ms)
              .Text(tenant)
              .Text(digest)
              .Run());
    }
    QB_ASSIGN_OR_RETURN(found, Find(tx.db, tenant, digests));
    return absl::OkStatus();
  }));
  return SizesOf(found);
}

absl::StatusOr<TenantStorage> SqliteBlobIndex::ReadStorage(absl::string_view tenant) {
  TenantStorage storage;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery bytes = db.Prepare("SELECT blob_bytes FROM tenant WHERE id = ?");
    bytes.Text(tenant);
    QB_ASSIGN_OR_RETURN(const bool known, bytes.Step());
    storage.blob_bytes = known ? bytes.IntAt(0) : 0;
    SqliteQuery uploads = db.Prepare("SELECT id, size_bytes FROM upload WHERE tenant = ?");
    uploads.Text(tenant);
    while (true) {
      QB_ASSIGN_OR_RETURN(const bool row, uploads.Step());
      if (!row) {
        return absl::OkStatus();
      }
      storage.uploads.emplace(std::string(uploads.TextAt(0)), uploads.IntAt(1));
    }
  }));
  return storage;
}

absl::Status SqliteBlobIndex::AddBlob(const UploadRecord& upload, int64_t now_ms) {
  return database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    QB_RETURN_IF_ERROR(EnsureTenant(tx.db, upload.tenant, now_ms));
    QB_RETURN_IF_ERROR(
        tx.db.Prepare("INSERT OR IGNORE INTO blob(sha256, size_bytes, stored_ms) VALUES (?, ?, ?)")
            .Text(upload.sha256)
            .Int(upload.size_bytes)
            .Int(now_ms)
            .Run());
    QB_RETURN_IF_ERROR(
        tx.db
            .Prepare("INSERT INTO blob_ref(tenant, sha256, used_ms) VALUES (?, ?, ?) ON CONFLICT "
                     "DO UPDATE SET used_ms = max(used_ms, excluded.used_ms)")
            .Text(upload.tenant)
            .Text(upload.sha256)
            .Int(now_ms)
            .Run());
    // A file of this name is meant to stay again.
    QB_RETURN_IF_ERROR(tx.db.Prepare("DELETE FROM doomed WHERE kind = 1 AND name = ?")
                           .Text(upload.sha256)
                           .Run());
    return RemoveUploadInTx(tx, upload.tenant, upload.id);
  });
}

absl::StatusOr<std::optional<UploadRecord>> SqliteBlobIndex::FindUpload(absl::string_view tenant,
                                                                        absl::string_view id) {
  std::optional<UploadRecord> upload;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query = db.Prepare(QB_UPLOAD_COLUMNS "WHERE tenant = ? AND id = ?");
    query.Text(tenant).Text(id);
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (row) {
      upload = UploadOfRow(query);
    }
    return absl::OkStatus();
  }));
  return upload;
}

absl::Status SqliteBlobIndex::PutUpload(const UploadRecord& upload, int64_t now_ms) {
  return database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    QB_RETURN_IF_ERROR(EnsureTenant(tx.db, upload.tenant, now_ms));
    return tx.db
        .Prepare(
            "INSERT OR REPLACE INTO upload(tenant, id, sha256, size_bytes, committed_bytes, "
            "updated_ms) VALUES (?, ?, ?, ?, ?, ?)")
        .Text(upload.tenant)
        .Text(upload.id)
        .Text(upload.sha256)
        .Int(upload.size_bytes)
        .Int(upload.committed_bytes)
        .Int(now_ms)
        .Run();
  });
}

absl::Status SqliteBlobIndex::RemoveUpload(absl::string_view tenant, absl::string_view id) {
  return database_.writer().Run([&](WriteTx& tx) { return RemoveUploadInTx(tx, tenant, id); });
}

absl::StatusOr<std::vector<UploadRecord>> SqliteBlobIndex::ListUploads() {
  std::vector<UploadRecord> uploads;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query = db.Prepare(QB_UPLOAD_COLUMNS);
    QB_ASSIGN_OR_RETURN(uploads, ReadUploads(query));
    return absl::OkStatus();
  }));
  return uploads;
}

absl::StatusOr<std::vector<UploadRecord>> SqliteBlobIndex::FindOldUploads(int64_t before_ms) {
  std::vector<UploadRecord> uploads;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query = db.Prepare(QB_UPLOAD_COLUMNS "WHERE updated_ms <= ?");
    query.Int(before_ms);
    QB_ASSIGN_OR_RETURN(uploads, ReadUploads(query));
    return absl::OkStatus();
  }));
  return uploads;
}

}  // namespace qb::server

#include "server/jobs/sqlite_blob_index.h"

#include "core/base/status_macros.h"
#include "server/jobs/sqlite_access_index.h"

namespace qb::server {
namespace {

#define QB_UPLOAD_COLUMNS "SELECT tenant, id, sha256, size_bytes, committed_bytes FROM upload "

UploadRecord UploadOfRow(const SqliteQuery& query) {
  return UploadRecord{std::string(query.TextAt(0)), std::string(query.TextAt(1)),
                      std::string(query.TextAt(2)), query.IntAt(3), query.IntAt(4)};
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
    sizes.reserve(digests.size());
    for (const std::string& digest : digests) {
      SqliteQuery query = db.Prepare(
          "SELECT size_bytes FROM blob_ref JOIN blob USING (sha256) WHERE tenant = ? AND sha256 = "
          "?");
      query.Text(tenant).Text(digest);
      QB_ASSIGN_OR_RETURN(const bool row, query.Step());
      sizes.push_back(row ? std::optional<int64_t>(query.IntAt(0)) : std::nullopt);
    }
    return absl::OkStatus();
  }));
  return sizes;
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
    QB_RETURN_IF_ERROR(tx.db.Prepare("INSERT OR IGNORE INTO blob_ref(tenant, sha256) VALUES (?, ?)")
                           .Text(upload.tenant)
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
    while (true) {
      QB_ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) {
        return absl::OkStatus();
      }
      uploads.push_back(UploadOfRow(query));
    }
  }));
  return uploads;
}

}  // namespace qb::server

// The BlobIndex in SQLite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/blobs/blob_index.h"
#include "server/jobs/sqlite_database.h"

namespace qb::server {

class SqliteBlobIndex final : public BlobIndex {
 public:
  // `database` outlives the index.
  explicit SqliteBlobIndex(SqliteDatabase& database) : database_(database) {}

  absl::StatusOr<std::vector<std::optional<int64_t>>> FindSizes(
      absl::string_view tenant, absl::Span<const std::string> digests) override;
  absl::StatusOr<std::vector<std::optional<int64_t>>> FindAndKeep(
      absl::string_view tenant, absl::Span<const std::string> digests, int64_t now_ms) override;
  absl::StatusOr<TenantStorage> ReadStorage(absl::string_view tenant) override;
  absl::Status AddBlob(const UploadRecord& upload, int64_t now_ms) override;
  absl::StatusOr<std::optional<UploadRecord>> FindUpload(absl::string_view tenant,
                                                         absl::string_view id) override;
  absl::Status PutUpload(const UploadRecord& upload, int64_t now_ms) override;
  absl::Status RemoveUpload(absl::string_view tenant, absl::string_view id) override;
  absl::StatusOr<std::vector<UploadRecord>> ListUploads() override;
  absl::StatusOr<std::vector<UploadRecord>> FindOldUploads(int64_t before_ms) override;
  absl::StatusOr<bool> RemoveOldUpload(const UploadRecord& upload, int64_t before_ms) override;

  absl::StatusOr<std::vector<UnusedBlob>> FindUnused(int64_t before_ms,
                                                     const std::optional<UnusedBlob>& after,
                                                     int limit) override;
  absl::StatusOr<std::vector<std::string>> RemoveUnused(absl::Span<const UnusedBlob> blobs,
                                                        int64_t before_ms) override;
  absl::StatusOr<std::vector<std::string>> ListDoomed() override;
  absl::Status ForgetDoomed(absl::Span<const std::string> digests) override;
  absl::StatusOr<std::vector<std::string>> FindUnknown(
      absl::Span<const std::string> digests) override;

 private:
  SqliteDatabase& database_;
};

}  // namespace qb::server

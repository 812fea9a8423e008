// The rows behind stored files: which blobs are there, for whom, and how far uploads have come.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace qb::server {

struct UploadRecord {
  std::string tenant;
  std::string id;
  std::string sha256;
  int64_t size_bytes = 0;       // of the whole blob
  int64_t committed_bytes = 0;  // synced
};

// What a tenant has on the disk.
struct TenantStorage {
  int64_t blob_bytes = 0;                  // of its blobs; each counts for every tenant that has it
  std::map<std::string, int64_t> uploads;  // unfinished, by id: bytes of the whole blob
};

// A blob that a tenant has and nothing refers to.
struct UnusedBlob {
  std::string tenant;
  std::string sha256;
  int64_t used_ms = 0;
};

// Thread-safe. OK from a change means that it is committed and synced.
class BlobIndex {
 public:
  virtual ~BlobIndex() = default;

  // For each digest its size, or nothing when this tenant has not stored it. What other tenants
  // have stored does not show.
  virtual absl::StatusOr<std::vector<std::optional<int64_t>>> FindSizes(
      absl::string_view tenant, absl::Span<const std::string> digests) = 0;
  virtual absl::StatusOr<TenantStorage> ReadStorage(absl::string_view tenant) = 0;
  // As FindSizes; what is there is used now, so that it stays for a while.
  virtual absl::StatusOr<std::vector<std::optional<int64_t>>> FindAndKeep(
      absl::string_view tenant, absl::Span<const std::string> digests, int64_t now_ms) = 0;
  // Notes a blob whose file is in its place and synced; its upload, if there is one, is over.
  virtual absl::Status AddBlob(const UploadRecord& upload, int64_t now_ms) = 0;

  virtual absl::StatusOr<std::optional<UploadRecord>> FindUpload(absl::string_view tenant,
                                                                 absl::string_view id) = 0;
  virtual absl::Status PutUpload(const UploadRecord& upload, int64_t now_ms) = 0;
  virtual absl::Status RemoveUpload(absl::string_view tenant, absl::string_view id) = 0;
  virtual absl::StatusOr<std::vector<UploadRecord>> ListUploads() = 0;
  // Uploads without a change since `before_ms`.
  virtual absl::StatusOr<std::vector<UploadRecord>> FindOldUploads(int64_t before_ms) = 0;
  // False: it has moved meanwhile, or is gone.
  virtual absl::StatusOr<bool> RemoveOldUpload(const UploadRecord& upload, int64_t before_ms) = 0;

  // Blobs of tenants that nothing has referred to since `before_ms`, after `after` in some order
  // (absent: from the first); at most `limit`.
  virtual absl::StatusOr<std::vector<UnusedBlob>> FindUnused(
      int64_t before_ms, const std::optional<UnusedBlob>& after, int limit) = 0;
  // Takes from tenants what of `blobs` is still unused. Returns the digests that nobody has any
  // more: doomed from now on, until ForgetDoomed or an AddBlob.
  virtual absl::StatusOr<std::vector<std::string>> RemoveUnused(absl::Span<const UnusedBlob> blobs,
                                                                int64_t before_ms) = 0;
  virtual absl::StatusOr<std::vector<std::string>> ListDoomed() = 0;
  // Their files are gone.
  virtual absl::Status ForgetDoomed(absl::Span<const std::string> digests) = 0;
  // Those of `digests` that no tenant has.
  virtual absl::StatusOr<std::vector<std::string>> FindUnknown(
      absl::Span<const std::string> digests) = 0;
};

}  // namespace qb::server

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

// Thread-safe. OK from a change means that it is committed and synced.
class BlobIndex {
 public:
  virtual ~BlobIndex() = default;

  // For each digest its size, or nothing when this tenant has not stored it. What other tenants
  // have stored does not show.
  virtual absl::StatusOr<std::vector<std::optional<int64_t>>> FindSizes(
      absl::string_view tenant, absl::Span<const std::string> digests) = 0;
  virtual absl::StatusOr<TenantStorage> ReadStorage(absl::string_view tenant) = 0;
  // Notes a blob whose file is in its place and synced; its upload, if there is one, is over.
  virtual absl::Status AddBlob(const UploadRecord& upload, int64_t now_ms) = 0;

  virtual absl::StatusOr<std::optional<UploadRecord>> FindUpload(absl::string_view tenant,
                                                                 absl::string_view id) = 0;
  virtual absl::Status PutUpload(const UploadRecord& upload, int64_t now_ms) = 0;
  virtual absl::Status RemoveUpload(absl::string_view tenant, absl::string_view id) = 0;
  virtual absl::StatusOr<std::vector<UploadRecord>> ListUploads() = 0;
};

}  // namespace qb::server

// A BlobIndex in memory, for tests of what lies on top of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "server/blobs/blob_index.h"

namespace qb::server::testing {

// Thread-safe.
class MemoryBlobIndex : public BlobIndex {
 public:
  absl::StatusOr<std::vector<std::optional<int64_t>>> FindSizes(
      absl::string_view tenant, absl::Span<const std::string> digests) override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::optional<int64_t>> sizes;
    for (const std::string& digest : digests) {
      const auto found = blobs_.find({std::string(tenant), digest});
      sizes.push_back(found == blobs_.end() ? std::nullopt : std::optional<int64_t>(found->second));
    }
    return sizes;
  }
  absl::StatusOr<TenantStorage> ReadStorage(absl::string_view tenant) override {
    absl::MutexLock lock(&mutex_);
    TenantStorage storage;
    for (const auto& [key, size_bytes] : blobs_) {
      storage.blob_bytes += key.first == tenant ? size_bytes : 0;
    }
    for (const auto& [key, upload] : uploads_) {
      if (key.first == tenant) {
        storage.uploads.emplace(key.second, upload.size_bytes);
      }
    }
    return storage;
  }
  absl::Status AddBlob(const UploadRecord& upload, int64_t /*now_ms*/) override {
    absl::MutexLock lock(&mutex_);
    blobs_[{upload.tenant, upload.sha256}] = upload.size_bytes;
    uploads_.erase({upload.tenant, upload.id});
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<UploadRecord>> FindUpload(absl::string_view tenant,
                                                         absl::string_view id) override {
    absl::MutexLock lock(&mutex_);
    const auto found = uploads_.find({std::string(tenant), std::string(id)});
    return found == uploads_.end() ? std::nullopt : std::optional<UploadRecord>(found->second);
  }
  absl::Status PutUpload(const UploadRecord& upload, int64_t /*now_ms*/) override {
    absl::MutexLock lock(&mutex_);
    uploads_[{upload.tenant, upload.id}] = upload;
    return absl::OkStatus();
  }
  absl::Status RemoveUpload(absl::string_view tenant, absl::string_view id) override {
    absl::MutexLock lock(&mutex_);
    uploads_.erase({std::string(tenant), std::string(id)});
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<UploadRecord>> ListUploads() override {
    absl::MutexLock lock(&mutex_);
    std::vector<UploadRecord> uploads;
    for (const auto& [key, upload] : uploads_) {
      uploads.push_back(upload);
    }
    return uploads;
  }

 private:
  using Key = std::pair<std::string, std::string>;  // tenant and name

  absl::Mutex mutex_;
  std::map<Key, int64_t> blobs_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, UploadRecord> uploads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server::testing

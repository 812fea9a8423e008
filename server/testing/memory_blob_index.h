// A BlobIndex in memory, for tests of what lies on top of it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
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
      sizes.push_back(found == blobs_.end() ? std::nullopt
                                            : std::optional<int64_t>(found->second.size_bytes));
    }
    return sizes;
  }
  absl::StatusOr<std::vector<std::optional<int64_t>>> FindAndKeep(
      absl::string_view tenant, absl::Span<const std::string> digests, int64_t now_ms) override {
    {
      absl::MutexLock lock(&mutex_);
      for (const std::string& digest : digests) {
        const auto found = blobs_.find({std::string(tenant), digest});
        if (found != blobs_.end()) {
          found->second.used_ms = now_ms;
        }
      }
    }
    return FindSizes(tenant, digests);
  }
  absl::StatusOr<TenantStorage> ReadStorage(absl::string_view tenant) override {
    absl::MutexLock lock(&mutex_);
    TenantStorage storage;
    for (const auto& [key, blob] : blobs_) {
      storage.blob_bytes += key.first == tenant ? blob.size_bytes : 0;
    }
    for (const auto& [key, upload] : uploads_) {
      if (key.first == tenant) {
        storage.uploads.emplace(key.second, upload.record.size_bytes);
      }
    }
    return storage;
  }
  absl::Status AddBlob(const UploadRecord& upload, int64_t now_ms) override {
    absl::MutexLock lock(&mutex_);
    blobs_[{upload.tenant, upload.sha256}] = {upload.size_bytes, now_ms};
    uploads_.erase({upload.tenant, upload.id});
    doomed_.erase(upload.sha256);
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<UploadRecord>> FindUpload(absl::string_view tenant,
                                                         absl::string_view id) override {
    absl::MutexLock lock(&mutex_);
    const auto found = uploads_.find({std::string(tenant), std::string(id)});
    return found == uploads_.end() ? std::nullopt
                                   : std::optional<UploadRecord>(found->second.record);
  }
  absl::Status PutUpload(const UploadRecord& upload, int64_t now_ms) override {
    absl::MutexLock lock(&mutex_);
    uploads_[{upload.tenant, upload.id}] = {upload, now_ms};
    return absl::OkStatus();
  }
  absl::Status RemoveUpload(absl::string_view tenant, absl::string_view id) override {
    absl::MutexLock lock(&mutex_);
    uploads_.erase({std::string(tenant), std::string(id)});
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<UploadRecord>> ListUploads() override {
    return FindOldUploads(INT64_MAX);
  }
  absl::StatusOr<std::vector<UploadRecord>> FindOldUploads(int64_t before_ms) override {
    absl::MutexLock lock(&mutex_);
    std::vector<UploadRecord> uploads;
    for (const auto& [key, upload] : uploads_) {
      if (upload.updated_ms <= before_ms) {
        uploads.push_back(upload.record);
      }
    }
    return uploads;
  }

  absl::StatusOr<bool> RemoveOldUpload(const UploadRecord& upload, int64_t before_ms) override {
    absl::MutexLock lock(&mutex_);
    const auto found = uploads_.find({upload.tenant, upload.id});
    if (found == uploads_.end() || found->second.updated_ms > before_ms) {
      return false;
    }
    uploads_.erase(found);
    return true;
  }

  // From now on the blob is in use.
  void Refer(const std::string& tenant, const std::string& sha256) {
    absl::MutexLock lock(&mutex_);
    referred_.insert({tenant, sha256});
  }
  absl::StatusOr<std::vector<UnusedBlob>> FindUnused(int64_t before_ms,
                                                     const std::optional<UnusedBlob>& after,
                                                     int limit) override {
    absl::MutexLock lock(&mutex_);
    std::vector<UnusedBlob> unused;
    for (const auto& [key, blob] : blobs_) {
      const UnusedBlob one{key.first, key.second, blob.used_ms};
      if (IsUnused(key, before_ms) && (!after.has_value() || Order(one) > Order(*after))) {
        unused.push_back(one);
      }
    }
    std::sort(unused.begin(), unused.end(), [](const UnusedBlob& a, const UnusedBlob& b) {
      return Order(a) < Order(b);
    });
    unused.resize(std::min(unused.size(), static_cast<size_t>(limit)));
    return unused;
  }
  absl::StatusOr<std::vector<std::string>> RemoveUnused(absl::Span<const UnusedBlob> blobs,
                                                        int64_t before_ms) override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> gone;
    for (const UnusedBlob& blob : blobs) {
      if (IsUnused({blob.tenant, blob.sha256}, before_ms)) {
        blobs_.erase({blob.tenant, blob.sha256});
        if (!IsKnown(blob.sha256)) {
          gone.push_back(blob.sha256);
          doomed_.insert(blob.sha256);
        }
      }
    }
    return gone;
  }
  absl::StatusOr<std::vector<std::string>> ListDoomed() override {
    absl::MutexLock lock(&mutex_);
    return std::vector<std::string>(doomed_.begin(), doomed_.end());
  }
  absl::Status ForgetDoomed(absl::Span<const std::string> digests) override {
    absl::MutexLock lock(&mutex_);
    for (const std::string& digest : digests) {
      doomed_.erase(digest);
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<std::string>> FindUnknown(
      absl::Span<const std::string> digests) override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> unknown;
    for (const std::string& digest : digests) {
      if (!IsKnown(digest)) {
        unknown.push_back(digest);
      }
    }
    return unknown;
  }

 private:
  using Key = std::pair<std::string, std::string>;  // tenant and name
  struct Blob {
    int64_t size_bytes = 0;
    int64_t used_ms = 0;
  };
  struct Upload {
    UploadRecord record;
    int64_t updated_ms = 0;
  };

  static std::tuple<int64_t, std::string, std::string> Order(const UnusedBlob& blob) {
    return {blob.used_ms, blob.tenant, blob.sha256};
  }
  bool IsUnused(const Key& key, int64_t before_ms) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto blob = blobs_.find(key);
    return blob != blobs_.end() && blob->second.used_ms <= before_ms && !referred_.contains(key);
  }
  bool IsKnown(const std::string& sha256) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(blobs_.begin(), blobs_.end(),
                       [&](const auto& entry) { return entry.first.second == sha256; });
  }

  absl::Mutex mutex_;
  std::map<Key, Blob> blobs_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, Upload> uploads_ ABSL_GUARDED_BY(mutex_);
  std::set<Key> referred_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> doomed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server::testing

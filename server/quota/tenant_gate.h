// Holds each tenant to its limits before its calls cost anything.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

#include "server/blobs/blob_index.h"
#include "server/blobs/blob_store.h"
#include "server/quota/tenant_limits.h"
#include "server/quota/token_bucket.h"
#include "server/runtime/clock.h"

namespace qb::server {

// Held while a stream is open; the gate outlives it.
using StreamTicket = std::shared_ptr<void>;

// Thread-safe. Tenants are those of credentials, so there are not many.
class TenantGate {
 public:
  // All of them outlive the gate. `seed`: of the random part of retry times.
  TenantGate(const LimitBook& limits, BlobIndex& index, const Clock& clock, uint64_t seed)
      : limits_(limits), index_(index), clock_(clock), random_(seed) {}

  // Counts one submit. Does not wait. Errors: ResourceExhausted "SUBMIT_RATE_LIMIT".
  absl::Status AdmitSubmit(absl::string_view tenant);
  // Lets in a client's upload that needs its bytes, for as long as the ticket lives. Waits for the
  // index. Errors: ResourceExhausted "PARALLEL_UPLOADS_LIMIT", "STORED_BYTES_LIMIT",
  // "UPLOAD_RATE_LIMIT".
  absl::StatusOr<UploadTicket> AdmitUpload(const UploadRequest& request);
  // Lets in a stream of events, jobs or log bytes, for as long as the ticket lives. Does not wait.
  // Errors: ResourceExhausted "OPEN_STREAMS_LIMIT".
  absl::StatusOr<StreamTicket> AdmitStream(const std::string& tenant);
  // The store has refused a job because too many wait.
  absl::Status QueueIsFull(absl::string_view tenant);

  const LimitBook& limits() const { return limits_; }

 private:
  struct Tenant {
    std::optional<TokenBucket> submits;
    std::optional<TokenBucket> upload_bytes;
    std::map<std::string, int64_t> open;  // uploads by id: bytes of the whole blob
    int64_t streams = 0;
  };

  absl::Status Open(const UploadRequest& request, const TenantLimits& limits,
                    std::map<std::string, int64_t>& open);
  absl::Status CheckStored(const UploadRequest& request, const TenantLimits& limits,
                           const std::map<std::string, int64_t>& open);
  absl::Status TakeUploadBytes(const UploadRequest& request, const TenantLimits& limits);
  void Close(const std::string& tenant, const std::string& upload_id);
  void CloseStream(const std::string& tenant);
  absl::Status RefuseFor(absl::string_view reason, absl::string_view tenant,
                         std::string description, absl::Duration wait);

  const LimitBook& limits_;
  BlobIndex& index_;
  const Clock& clock_;
  absl::Mutex mutex_;
  std::map<std::string, Tenant> tenants_ ABSL_GUARDED_BY(mutex_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server

#include "server/quota/tenant_gate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "core/base/status_macros.h"
#include "server/quota/refusal.h"

namespace qb::server {
namespace {

// What passes when others end, and nobody knows when that is.
constexpr absl::Duration kQueueWait = absl::Seconds(5);
constexpr absl::Duration kUploadWait = absl::Seconds(2);
constexpr absl::Duration kStreamWait = absl::Seconds(2);
constexpr absl::Duration kStorageWait = absl::Seconds(60);
constexpr double kSubmitBurstSeconds = 10;
constexpr double kUploadBurstSeconds = 60;

// The bucket of a limit, made or brought up to date.
TokenBucket& Bucket(std::optional<TokenBucket>& bucket, double rate, double burst, int64_t now_ms) {
  burst = std::max(1.0, burst);
  if (bucket.has_value()) {
    bucket->SetLimits(rate, burst, now_ms);
  } else {
    bucket.emplace(rate, burst, now_ms);
  }
  return *bucket;
}

}  // namespace

absl::Status TenantGate::RefuseFor(absl::string_view reason, absl::string_view tenant,
                                   std::string description, absl::Duration wait) {
  double jitter = 1;
  {
    absl::MutexLock lock(&mutex_);
    jitter = std::uniform_real_distribution<double>(1.0, 1.25)(random_);
  }
  return Refuse({reason, tenant, std::move(description), wait * jitter});
}

absl::Status TenantGate::AdmitSubmit(absl::string_view tenant) {
  const TenantLimits limits = limits_.For(tenant);
  if (limits.submits_per_second <= 0) {
    return absl::OkStatus();
  }
  const double burst = limits.submit_burst > 0 ? static_cast<double>(limits.submit_burst)
                                               : limits.submits_per_second * kSubmitBurstSeconds;
  const int64_t now_ms = clock_.MonotonicMs();
  int64_t wait_ms = 0;
  {
    absl::MutexLock lock(&mutex_);
    TokenBucket& bucket =
        Bucket(tenants_[std::string(tenant)].submits, limits.submits_per_second, burst, now_ms);
    wait_ms = bucket.WaitMs(now_ms);
    if (wait_ms == 0) {
      bucket.Take(1, now_ms);
      return absl::OkStatus();
    }
  }
  return RefuseFor(
      "SUBMIT_RATE_LIMIT", tenant,
      absl::StrCat("more than ", limits.submits_per_second, " submits a second; at once: ", burst),
      absl::Milliseconds(wait_ms));
}

absl::StatusOr<StreamTicket> TenantGate::AdmitStream(const std::string& tenant) {
  const int64_t most = limits_.For(tenant).max_open_streams;
  {
    absl::MutexLock lock(&mutex_);
    int64_t& open = tenants_[tenant].streams;
    if (most == 0 || open < most) {
      ++open;  // counted without a limit too: one may come while it is open
      return StreamTicket(this, [this, tenant](void*) { CloseStream(tenant); });
    }
  }
  return RefuseFor("OPEN_STREAMS_LIMIT", tenant,
                   absl::StrCat(most,
                                " streams of events, jobs and logs are open, no more are "
                                "accepted at a time"),
                   kStreamWait);
}

void TenantGate::CloseStream(const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  --tenants_[tenant].streams;
}

absl::Status TenantGate::QueueIsFull(absl::string_view tenant) {
  return RefuseFor("QUEUED_JOBS_LIMIT", tenant,
                   absl::StrCat(limits_.For(tenant).max_queued_jobs,
                                " jobs are waiting, no more are accepted; submit again when some "
                                "have ended"),
                   kQueueWait);
}

// `open` gets what is open, this upload included.
absl::Status TenantGate::Open(const UploadRequest& request, const TenantLimits& limits,
                              std::map<std::string, int64_t>& open) {
  {
    absl::MutexLock lock(&mutex_);
    std::map<std::string, int64_t>& of_tenant = tenants_[request.tenant].open;
    if (limits.max_parallel_uploads == 0 ||
        static_cast<int64_t>(of_tenant.size()) < limits.max_parallel_uploads) {
      of_tenant[request.upload_id] = request.size_bytes;
      open = of_tenant;
      return absl::OkStatus();
    }
  }
  return RefuseFor("PARALLEL_UPLOADS_LIMIT", request.tenant,
                   absl::StrCat(limits.max_parallel_uploads,
                                " uploads are under way, no more are accepted at a time"),
                   kUploadWait);
}

absl::Status TenantGate::CheckStored(const UploadRequest& request, const TenantLimits& limits,
                                     const std::map<std::string, int64_t>& open) {
  if (limits.max_stored_bytes == 0) {
    return absl::OkStatus();
  }
  // After `open` was read: what has been completed since counts twice rather than not at all.
  QB_ASSIGN_OR_RETURN(TenantStorage storage, index_.ReadStorage(request.tenant));
  storage.uploads.insert(open.begin(), open.end());
  int64_t bytes = storage.blob_bytes;
  for (const auto& [id, size_bytes] : storage.uploads) {
    bytes += id == request.upload_id ? 0 : size_bytes;
  }
  if (request.size_bytes <= limits.max_stored_bytes - bytes) {
    return absl::OkStatus();
  }
  return RefuseFor("STORED_BYTES_LIMIT", request.tenant,
                   absl::StrCat(bytes, " bytes are stored or being uploaded, ", request.size_bytes,
                                " more would be over the limit of ", limits.max_stored_bytes,
                                "; files go when the jobs that use them do"),
                   kStorageWait);
}

absl::Status TenantGate::TakeUploadBytes(const UploadRequest& request, const TenantLimits& limits) {
  const auto rate = static_cast<double>(limits.upload_bytes_per_second);
  if (rate <= 0) {
    return absl::OkStatus();
  }
  const double burst = limits.upload_burst_bytes > 0
                           ? static_cast<double>(limits.upload_burst_bytes)
                           : rate * kUploadBurstSeconds;
  const int64_t now_ms = clock_.MonotonicMs();
  int64_t wait_ms = 0;
  {
    absl::MutexLock lock(&mutex_);
    TokenBucket& bucket = Bucket(tenants_[request.tenant].upload_bytes, rate, burst, now_ms);
    wait_ms = bucket.WaitMs(now_ms);
    if (wait_ms == 0) {
      bucket.Take(static_cast<double>(request.size_bytes - request.offset), now_ms);
      return absl::OkStatus();
    }
  }
  return RefuseFor(
      "UPLOAD_RATE_LIMIT", request.tenant,
      absl::StrCat("more than ", limits.upload_bytes_per_second, " bytes a second in the long run"),
      absl::Milliseconds(wait_ms));
}

absl::StatusOr<UploadTicket> TenantGate::AdmitUpload(const UploadRequest& request) {
  const TenantLimits limits = limits_.For(request.tenant);
  std::map<std::string, int64_t> open;
  QB_RETURN_IF_ERROR(Open(request, limits, open));
  UploadTicket ticket(
      this, [this, tenant = request.tenant, id = request.upload_id](void*) { Close(tenant, id); });
  QB_RETURN_IF_ERROR(CheckStored(request, limits, open));
  QB_RETURN_IF_ERROR(TakeUploadBytes(request, limits));
  return ticket;
}

void TenantGate::Close(const std::string& tenant, const std::string& upload_id) {
  absl::MutexLock lock(&mutex_);
  tenants_[tenant].open.erase(upload_id);
}

}  // namespace qb::server

// Files by digest, as clients and workers ask for them, without any network in it.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "proto/qbc/v1/blob_service.pb.h"
#include "server/auth/authorize.h"
#include "server/blobs/blob_store.h"
#include "server/jobs/access_index.h"
#include "server/quota/disk_guard.h"
#include "server/quota/tenant_gate.h"
#include "server/runtime/frame_source.h"

namespace qb::server {

namespace pb = ::qbc::v1;

struct BlobServiceOptions {
  int max_find_missing = 2000;                  // blobs of one request
  int64_t read_piece_bytes = int64_t{1} << 20;  // data of one frame of ReadBlob
};

// Thread-safe. Calls wait for the disk. The comments of blob_service.proto say what they do.
class BlobService {
 public:
  // All of them outlive the service.
  BlobService(BlobStore& blobs, AccessIndex& access, TenantGate& gate, const DiskGuard& disk,
              BlobServiceOptions options)
      : blobs_(blobs), access_(access), gate_(gate), disk_(disk), options_(options) {}

  absl::Status FindMissingBlobs(const Caller& caller, const pb::FindMissingBlobsRequest& request,
                                pb::FindMissingBlobsResponse& response);
  absl::Status QueryWrite(const Caller& caller, const pb::QueryWriteRequest& request,
                          pb::QueryWriteResponse& response);
  absl::StatusOr<std::unique_ptr<BlobUpload>> StartWrite(const Caller& caller,
                                                         const pb::WriteBlobHeader& header);
  absl::StatusOr<std::unique_ptr<FrameSource<pb::ReadBlobResponse>>> ReadBlob(
      const Caller& caller, const pb::ReadBlobRequest& request);

 private:
  // Who the call is for: the caller, or, with an attempt that a worker agent holds, its tenant.
  absl::StatusOr<Caller> ActingFor(const Caller& caller, bool has_attempt,
                                   const pb::AttemptKey& attempt);
  // Of the caller's tenant, or the result of a job that another tenant shares with it.
  absl::StatusOr<std::unique_ptr<BlobFile>> OpenReadable(const Caller& caller,
                                                         const std::string& sha256);

  BlobStore& blobs_;
  AccessIndex& access_;
  TenantGate& gate_;
  const DiskGuard& disk_;
  const BlobServiceOptions options_;
};

}  // namespace qb::server

#include "server/service/blob_service.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb::server {
namespace {

class BlobStream final : public FrameSource<pb::ReadBlobResponse> {
 public:
  BlobStream(std::unique_ptr<BlobFile> file, int64_t offset, int64_t end, int64_t piece_bytes)
      : file_(std::move(file)), offset_(offset), end_(end), piece_bytes_(piece_bytes) {}

  absl::StatusOr<StreamStep> Next(pb::ReadBlobResponse& frame) override {
    // An empty blob sends one empty frame, which tells its size.
    if (offset_ >= end_ && sent_) {
      return StreamStep::kEnd;
    }
    QB_ASSIGN_OR_RETURN(std::string data,
                        file_->Read(offset_, std::min(piece_bytes_, end_ - offset_)));
    frame.set_offset(offset_);
    frame.set_total_size_bytes(file_->size_bytes());
    offset_ += static_cast<int64_t>(data.size());
    frame.set_data(std::move(data));
    sent_ = true;
    return StreamStep::kSend;
  }

 private:
  const std::unique_ptr<BlobFile> file_;
  int64_t offset_;
  const int64_t end_;
  const int64_t piece_bytes_;
  bool sent_ = false;
};

}  // namespace

absl::StatusOr<Caller> BlobService::ActingFor(const Caller& caller, bool has_attempt,
                                              const pb::AttemptKey& attempt) {
  if (!has_attempt) {
    return caller;
  }
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kWorkerWork, caller.tenant}, Verb::kReport));
  QB_ASSIGN_OR_RETURN(
      std::string tenant,
      access_.TenantOfAttempt({attempt.execution_id(), attempt.attempt(), attempt.fence()}));
  return Caller{std::move(tenant), {Scope::kBlobsRead, Scope::kBlobsWrite}, caller.credential};
}

absl::Status BlobService::FindMissingBlobs(const Caller& caller,
                                           const pb::FindMissingBlobsRequest& request,
                                           pb::FindMissingBlobsResponse& response) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kBlob, caller.tenant}, Verb::kRead));
  if (request.blobs_size() > options_.max_find_missing) {
    return absl::InvalidArgumentError(
        absl::StrCat("blobs: ", request.blobs_size(), ", at most ", options_.max_find_missing));
  }
  std::vector<std::string> digests;
  for (const pb::BlobRef& blob : request.blobs()) {
    digests.push_back(blob.sha256());
  }
  QB_ASSIGN_OR_RETURN(const auto sizes, blobs_.FindAndKeep(caller.tenant, digests));
  for (int i = 0; i < request.blobs_size(); ++i) {
    if (!sizes[static_cast<size_t>(i)].has_value()) {
      *response.add_missing() = request.blobs(i);
    }
  }
  return absl::OkStatus();
}

absl::Status BlobService::QueryWrite(const Caller& caller, const pb::QueryWriteRequest& request,
                                     pb::QueryWriteResponse& response) {
  QB_ASSIGN_OR_RETURN(const Caller owner,
                      ActingFor(caller, request.has_attempt(), request.attempt()));
  QB_RETURN_IF_ERROR(Authorize(owner, {ResourceKind::kBlob, owner.tenant}, Verb::kRead));
  QB_ASSIGN_OR_RETURN(const UploadState state,
                      blobs_.QueryUpload(owner.tenant, request.upload_id(), request.sha256()));
  response.set_committed_bytes(state.committed_bytes);
  response.set_complete(state.complete);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BlobUpload>> BlobService::StartWrite(
    const Caller& caller, const pb::WriteBlobHeader& header) {
  QB_ASSIGN_OR_RETURN(const Caller owner,
                      ActingFor(caller, header.has_attempt(), header.attempt()));
  QB_RETURN_IF_ERROR(Authorize(owner, {ResourceKind::kBlob, owner.tenant}, Verb::kCreate));
  UploadRequest request;
  request.tenant = owner.tenant;
  request.upload_id = header.upload_id();
  request.sha256 = header.sha256();
  request.size_bytes = header.size_bytes();
  request.offset = header.offset();
  if (!header.has_attempt()) {
    // What a worker sends is the result of work that was accepted.
    request.admit = [this](const UploadRequest& upload) -> absl::StatusOr<UploadTicket> {
      QB_RETURN_IF_ERROR(disk_.CheckNewWork(upload.size_bytes - upload.offset));
      return gate_.AdmitUpload(upload);
    };
  }
  return blobs_.StartUpload(request);
}

absl::StatusOr<std::unique_ptr<BlobFile>> BlobService::OpenReadable(const Caller& caller,
                                                                    const std::string& sha256) {
  absl::StatusOr<std::unique_ptr<BlobFile>> own = blobs_.Open(caller.tenant, sha256);
  if (!absl::IsNotFound(own.status())) {
    return own;
  }
  const absl::StatusOr<std::string> sharer = access_.FindBlobSharer(caller.tenant, sha256);
  if (!sharer.ok()) {
    return absl::IsNotFound(sharer.status()) ? own.status() : sharer.status();
  }
  return blobs_.Open(*sharer, sha256);
}

absl::StatusOr<std::unique_ptr<FrameSource<pb::ReadBlobResponse>>> BlobService::ReadBlob(
    const Caller& caller, const pb::ReadBlobRequest& request) {
  QB_ASSIGN_OR_RETURN(const Caller owner,
                      ActingFor(caller, request.has_attempt(), request.attempt()));
  QB_RETURN_IF_ERROR(Authorize(owner, {ResourceKind::kBlob, owner.tenant}, Verb::kRead));
  QB_ASSIGN_OR_RETURN(std::unique_ptr<BlobFile> file, OpenReadable(owner, request.sha256()));
  const int64_t size = file->size_bytes();
  if (request.offset() < 0 || request.offset() > size || request.limit() < 0) {
    return absl::OutOfRangeError(absl::StrCat("offset ", request.offset(), ", limit ",
                                              request.limit(), ": the blob has ", size, " bytes"));
  }
  const int64_t left = size - request.offset();
  const int64_t end =
      request.offset() + (request.limit() == 0 ? left : std::min(left, request.limit()));
  return std::make_unique<BlobStream>(std::move(file), request.offset(), end,
                                      options_.read_piece_bytes);
}

}  // namespace qb::server

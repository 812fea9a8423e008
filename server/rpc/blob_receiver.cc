#include "server/rpc/blob_receiver.h"

#include <utility>

#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"
#include "server/rpc/unary_call.h"

namespace qb::server {

BlobReceiver::BlobReceiver(grpc::CallbackServerContext* context, const RpcParts& parts,
                           BlobService& service, qbc::v1::WriteBlobResponse* response)
    : context_(context),
      pool_(parts.pool),
      gate_(parts.gate),
      service_(service),
      response_(response) {
  StartRead(&message_);
}

void BlobReceiver::OnReadDone(bool ok) {
  // Beyond the pool's limit too: the call was admitted, and one message of it is the bound.
  if (ok) {
    pool_.Schedule([this] { TakeMessage(); });
  } else {
    pool_.Schedule([this] { End(); });
  }
}

void BlobReceiver::OnDone() {
  // Closing the upload looks at files: not on gRPC's thread.
  pool_.Schedule([this] { delete this; });
}

void BlobReceiver::TakeMessage() {
  if (absl::Status status = Take(); !status.ok()) {
    FinishWith(status);
    return;
  }
  if (upload_->has_all()) {
    End();
    return;
  }
  StartRead(&message_);
}

absl::Status BlobReceiver::Take() {
  if (upload_ == nullptr) {
    if (!message_.has_header()) {
      return absl::InvalidArgumentError("header: expected in the first message");
    }
    QB_ASSIGN_OR_RETURN(caller_, gate_.Admit(*context_));
    QB_ASSIGN_OR_RETURN(upload_, service_.StartWrite(caller_, message_.header()));
  } else if (message_.has_header()) {
    return absl::InvalidArgumentError("header: expected in the first message only");
  }
  if (!gate_.StillGood(caller_)) {
    return absl::UnauthenticatedError("the credential is no longer valid");
  }
  return upload_->Append(message_.data());
}

// All bytes are here, or the client has stopped: what came is kept.
void BlobReceiver::End() {
  if (upload_ == nullptr) {
    FinishWith(absl::InvalidArgumentError("header: expected in the first message"));
    return;
  }
  const absl::StatusOr<UploadState> state = upload_->Finish();
  if (state.ok()) {
    response_->set_committed_bytes(state->committed_bytes);
    response_->set_complete(state->complete);
  }
  // The id is free again before the client hears of the end.
  upload_.reset();
  FinishWith(state.status());
}

void BlobReceiver::FinishWith(const absl::Status& status) {
  upload_.reset();
  Finish(ToGrpcStatus(status, context_));
}

}  // namespace qb::server

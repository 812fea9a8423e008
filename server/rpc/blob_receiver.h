// Receives the messages of one WriteBlob and hands each to the pool before it asks for the next.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "proto/qbc/v1/blob_service.pb.h"
#include "server/auth/authorize.h"
#include "server/blobs/blob_store.h"
#include "server/rpc/call_gate.h"
#include "server/runtime/task_pool.h"
#include "server/service/blob_service.h"

namespace qb::server {

// Deletes itself in OnDone. Steps never overlap: a read is started only when the last message has
// been written away.
class BlobReceiver final : public grpc::ServerReadReactor<qbc::v1::WriteBlobRequest> {
 public:
  BlobReceiver(grpc::CallbackServerContext* context, const RpcParts& parts, BlobService& service,
               qbc::v1::WriteBlobResponse* response);

  void OnReadDone(bool ok) override;
  void OnDone() override;

 private:
  void TakeMessage();
  absl::Status Take();
  void End();
  void FinishWith(const absl::Status& status);

  grpc::CallbackServerContext* const context_;
  TaskPool& pool_;
  const CallGate& gate_;
  BlobService& service_;
  Caller caller_;  // from the first message on
  qbc::v1::WriteBlobResponse* const response_;
  qbc::v1::WriteBlobRequest message_;
  std::unique_ptr<BlobUpload> upload_;
};

}  // namespace qb::server

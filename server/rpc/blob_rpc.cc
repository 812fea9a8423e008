#include <functional>

#include "proto/qbc/v1/blob_service.grpc.pb.h"
#include "server/rpc/blob_receiver.h"
#include "server/rpc/frame_writer.h"
#include "server/rpc/rpc_services.h"
#include "server/rpc/unary_call.h"

namespace qb::server {
namespace {

class BlobRpc final : public pb::BlobService::CallbackService {
 public:
  BlobRpc(BlobService& service, TaskPool& pool) : service_(service), pool_(pool) {}

  grpc::ServerUnaryReactor* FindMissingBlobs(grpc::CallbackServerContext* context,
                                             const pb::FindMissingBlobsRequest* request,
                                             pb::FindMissingBlobsResponse* response) override {
    return RunUnary(context, pool_, [=, this] {
      return service_.FindMissingBlobs(CallerOf(*context), *request, *response);
    });
  }
  grpc::ServerUnaryReactor* QueryWrite(grpc::CallbackServerContext* context,
                                       const pb::QueryWriteRequest* request,
                                       pb::QueryWriteResponse* response) override {
    return RunUnary(context, pool_, [=, this] {
      return service_.QueryWrite(CallerOf(*context), *request, *response);
    });
  }
  grpc::ServerReadReactor<pb::WriteBlobRequest>* WriteBlob(
      grpc::CallbackServerContext* context, pb::WriteBlobResponse* response) override {
    return new BlobReceiver(context, pool_, service_, CallerOf(*context), response);
  }
  grpc::ServerWriteReactor<pb::ReadBlobResponse>* ReadBlob(
      grpc::CallbackServerContext* context, const pb::ReadBlobRequest* request) override {
    return FrameWriter<pb::ReadBlobResponse>::Start(
        context, pool_, [=, this](const std::function<void()>& /*wake*/) {
          return service_.ReadBlob(CallerOf(*context), *request);
        });
  }

 private:
  BlobService& service_;
  TaskPool& pool_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeBlobRpc(BlobService& service, TaskPool& pool) {
  return std::make_unique<BlobRpc>(service, pool);
}

}  // namespace qb::server

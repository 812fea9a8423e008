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
  BlobRpc(BlobService& service, const RpcParts& parts) : service_(service), parts_(parts) {}

  grpc::ServerUnaryReactor* FindMissingBlobs(grpc::CallbackServerContext* context,
                                             const pb::FindMissingBlobsRequest* request,
                                             pb::FindMissingBlobsResponse* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.FindMissingBlobs(caller, *request, *response);
    });
  }
  grpc::ServerUnaryReactor* QueryWrite(grpc::CallbackServerContext* context,
                                       const pb::QueryWriteRequest* request,
                                       pb::QueryWriteResponse* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.QueryWrite(caller, *request, *response);
    });
  }
  grpc::ServerReadReactor<pb::WriteBlobRequest>* WriteBlob(
      grpc::CallbackServerContext* context, pb::WriteBlobResponse* response) override {
    return new BlobReceiver(context, parts_, service_, response);
  }
  grpc::ServerWriteReactor<pb::ReadBlobResponse>* ReadBlob(
      grpc::CallbackServerContext* context, const pb::ReadBlobRequest* request) override {
    return FrameWriter<pb::ReadBlobResponse>::Start(
        context, parts_, [=, this](const Caller& caller, const std::function<void()>& /*wake*/) {
          return service_.ReadBlob(caller, *request);
        });
  }

 private:
  BlobService& service_;
  const RpcParts parts_;
};

}  // namespace

NamedService MakeBlobRpc(BlobService& service, const RpcParts& parts) {
  return {pb::BlobService::service_full_name(), std::make_unique<BlobRpc>(service, parts)};
}

}  // namespace qb::server

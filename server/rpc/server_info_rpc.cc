#include "proto/qbc/v1/server_info.grpc.pb.h"
#include "server/rpc/rpc_services.h"
#include "server/rpc/unary_call.h"

namespace qb::server {
namespace {

class ServerInfoRpc final : public pb::ServerInfo::CallbackService {
 public:
  ServerInfoRpc(ServerInfo& service, TaskPool& pool) : service_(service), pool_(pool) {}

  grpc::ServerUnaryReactor* GetCapabilities(grpc::CallbackServerContext* context,
                                            const pb::GetCapabilitiesRequest* /*request*/,
                                            pb::GetCapabilitiesResponse* response) override {
    return RunUnary(context, pool_,
                    [=, this] { return service_.GetCapabilities(CallerOf(*context), *response); });
  }

 private:
  ServerInfo& service_;
  TaskPool& pool_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeServerInfoRpc(ServerInfo& service, TaskPool& pool) {
  return std::make_unique<ServerInfoRpc>(service, pool);
}

}  // namespace qb::server

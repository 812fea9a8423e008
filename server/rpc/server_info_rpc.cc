#include "proto/qbc/v1/server_info.grpc.pb.h"
#include "server/rpc/rpc_services.h"
#include "server/rpc/unary_call.h"

namespace qb::server {
namespace {

class ServerInfoRpc final : public pb::ServerInfo::CallbackService {
 public:
  ServerInfoRpc(ServerInfo& service, const RpcParts& parts) : service_(service), parts_(parts) {}

  grpc::ServerUnaryReactor* GetCapabilities(grpc::CallbackServerContext* context,
                                            const pb::GetCapabilitiesRequest* /*request*/,
                                            pb::GetCapabilitiesResponse* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.GetCapabilities(caller, *response);
    });
  }

 private:
  ServerInfo& service_;
  const RpcParts parts_;
};

}  // namespace

NamedService MakeServerInfoRpc(ServerInfo& service, const RpcParts& parts) {
  return {pb::ServerInfo::service_full_name(), std::make_unique<ServerInfoRpc>(service, parts)};
}

}  // namespace qb::server

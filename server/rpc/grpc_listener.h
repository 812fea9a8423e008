// One address on which gRPC is served.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "server/rpc/call_gate.h"
#include "server/rpc/listen_address.h"

namespace qb::server {

// A service and its full name, as health checks ask for it.
struct NamedService {
  std::string name;
  std::unique_ptr<grpc::Service> service;
};

// What one listener needs: the gate, who calls through it, and the services behind it.
struct GrpcListener {
  explicit GrpcListener(ListenAddress where, CallGate who)
      : listen(std::move(where)), gate(std::move(who)) {}

  const ListenAddress listen;
  const CallGate gate;
  std::shared_ptr<grpc::ServerCredentials> credentials;  // gRPC's own handle
  std::vector<NamedService> services;
  std::unique_ptr<grpc::Server> grpc;
  std::string address;
};

// Begins to listen and fills in `grpc` and `address`. `flag` is named in errors. Errors:
// Unavailable when the address is taken.
absl::Status BindListener(absl::string_view flag, GrpcListener& listener);

// What grpc.health.v1 says from now on, of the server as a whole and of each of its services.
void SetHealth(const GrpcListener& listener, bool serving);

}  // namespace qb::server

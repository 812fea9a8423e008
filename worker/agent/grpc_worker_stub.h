// WorkerStub over gRPC.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "worker/agent/worker_stub.h"

namespace qb::worker {

// A server, how it proves who it is, and how the agent does.
struct ServerAccess {
  std::string server;  // "unix:/path" or "host:port"
  // PEM files, "": none. TLS is used for every host but this machine, and there too with `tls_ca`.
  std::string tls_ca;    // whose certificates servers may have; "": those of the system
  std::string tls_cert;  // of the agent
  std::string tls_key;
  std::string token;  // "": none
};

// Connects when the first call is made. Errors: InvalidArgument with the accepted forms; those of
// reading the files.
absl::StatusOr<std::unique_ptr<WorkerStub>> MakeGrpcWorkerStub(const ServerAccess& access);

}  // namespace qb::worker

// WorkerStub over gRPC.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "worker/agent/worker_stub.h"

namespace qb::worker {

// `server` is unix:/path, or host:port with the host 127.0.0.1, [::1] or localhost: until there are
// TLS and tokens nothing else is accepted. Connects when the first call is made.
// Errors: InvalidArgument with the accepted forms.
absl::StatusOr<std::unique_ptr<WorkerStub>> MakeGrpcWorkerStub(const std::string& server);

}  // namespace qb::worker

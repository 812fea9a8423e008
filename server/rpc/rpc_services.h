// The gRPC services: one line a method, from the wire to the services in server/service.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/rpc/call_gate.h"
#include "server/rpc/grpc_listener.h"
#include "server/service/blob_service.h"
#include "server/service/job_service.h"
#include "server/service/server_info.h"
#include "server/service/worker_service.h"

namespace qb::server {

// All of them outlive the returned services.
NamedService MakeJobRpc(JobService& service, const RpcParts& parts);
NamedService MakeBlobRpc(BlobService& service, const RpcParts& parts);
NamedService MakeWorkerRpc(WorkerService& service, const RpcParts& parts);
NamedService MakeServerInfoRpc(ServerInfo& service, const RpcParts& parts);

}  // namespace qb::server

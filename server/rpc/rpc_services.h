// The gRPC services: one line a method, from the wire to the services in server/service.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/runtime/task_pool.h"
#include "server/service/blob_service.h"
#include "server/service/job_service.h"
#include "server/service/server_info.h"
#include "server/service/worker_service.h"

namespace qb::server {

// All of them outlive the returned services.
std::unique_ptr<grpc::Service> MakeJobRpc(JobService& service, TaskPool& pool);
std::unique_ptr<grpc::Service> MakeBlobRpc(BlobService& service, TaskPool& pool);
std::unique_ptr<grpc::Service> MakeWorkerRpc(WorkerService& service, TaskPool& pool);
std::unique_ptr<grpc::Service> MakeServerInfoRpc(ServerInfo& service, TaskPool& pool);

}  // namespace qb::server

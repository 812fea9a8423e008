#include <utility>

#include "proto/qbc/v1/worker_service.grpc.pb.h"
#include "server/rpc/rpc_services.h"
#include "server/rpc/unary_call.h"

namespace qb::server {
namespace {

class WorkerRpc final : public pb::WorkerService::CallbackService {
 public:
  WorkerRpc(WorkerService& service, TaskPool& pool) : service_(service), pool_(pool) {}

  // The one unary call that may be held: the dispatcher answers it when it has something to say.
  grpc::ServerUnaryReactor* Sync(grpc::CallbackServerContext* context,
                                 const pb::SyncRequest* request,
                                 pb::SyncResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const bool scheduled = pool_.TrySchedule([=, this] {
      service_.Sync(CallerOf(*context), *request, [=](absl::StatusOr<pb::SyncResponse> answer) {
        if (answer.ok()) {
          *response = *std::move(answer);
        }
        reactor->Finish(ToGrpcStatus(answer.status(), context));
      });
    });
    if (!scheduled) {
      reactor->Finish(Overloaded(context));
    }
    return reactor;
  }
  grpc::ServerUnaryReactor* AppendEvents(grpc::CallbackServerContext* context,
                                         const pb::AppendEventsRequest* request,
                                         pb::AppendEventsResponse* response) override {
    return RunUnary(context, pool_, [=, this] {
      return service_.AppendEvents(CallerOf(*context), *request, *response);
    });
  }
  grpc::ServerUnaryReactor* PutLog(grpc::CallbackServerContext* context,
                                   const pb::PutLogRequest* request,
                                   pb::PutLogResponse* response) override {
    return RunUnary(context, pool_,
                    [=, this] { return service_.PutLog(CallerOf(*context), *request, *response); });
  }
  grpc::ServerUnaryReactor* CompleteAttempt(grpc::CallbackServerContext* context,
                                            const pb::CompleteAttemptRequest* request,
                                            pb::CompleteAttemptResponse* response) override {
    return RunUnary(context, pool_, [=, this] {
      return service_.CompleteAttempt(CallerOf(*context), *request, *response);
    });
  }

 private:
  WorkerService& service_;
  TaskPool& pool_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeWorkerRpc(WorkerService& service, TaskPool& pool) {
  return std::make_unique<WorkerRpc>(service, pool);
}

}  // namespace qb::server

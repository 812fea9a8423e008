#include <utility>

#include "proto/qbc/v1/worker_service.grpc.pb.h"
#include "server/rpc/rpc_services.h"
#include "server/rpc/unary_call.h"

namespace qb::server {
namespace {

class WorkerRpc final : public pb::WorkerService::CallbackService {
 public:
  WorkerRpc(WorkerService& service, const RpcParts& parts) : service_(service), parts_(parts) {}

  // The one unary call that may be held: the dispatcher answers it when it has something to say.
  grpc::ServerUnaryReactor* Sync(grpc::CallbackServerContext* context,
                                 const pb::SyncRequest* request,
                                 pb::SyncResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const bool scheduled = parts_.pool.TrySchedule([=, this] {
      const absl::StatusOr<Caller> caller = parts_.gate.Admit(*context);
      if (!caller.ok()) {
        reactor->Finish(ToGrpcStatus(caller.status(), context));
        return;
      }
      service_.Sync(*caller, *request, [=](absl::StatusOr<pb::SyncResponse> answer) {
        const absl::Status status = answer.status();
        if (status.ok()) {
          *response = *std::move(answer);
        }
        reactor->Finish(ToGrpcStatus(status, context));
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
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.AppendEvents(caller, *request, *response);
    });
  }
  grpc::ServerUnaryReactor* PutLog(grpc::CallbackServerContext* context,
                                   const pb::PutLogRequest* request,
                                   pb::PutLogResponse* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.PutLog(caller, *request, *response);
    });
  }
  grpc::ServerUnaryReactor* CompleteAttempt(grpc::CallbackServerContext* context,
                                            const pb::CompleteAttemptRequest* request,
                                            pb::CompleteAttemptResponse* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.CompleteAttempt(caller, *request, *response);
    });
  }

 private:
  WorkerService& service_;
  const RpcParts parts_;
};

}  // namespace

NamedService MakeWorkerRpc(WorkerService& service, const RpcParts& parts) {
  return {pb::WorkerService::service_full_name(), std::make_unique<WorkerRpc>(service, parts)};
}

}  // namespace qb::server

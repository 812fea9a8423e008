#include <functional>
#include <utility>

#include "proto/qbc/v1/job_service.grpc.pb.h"
#include "server/rpc/frame_writer.h"
#include "server/rpc/rpc_services.h"
#include "server/rpc/unary_call.h"

namespace qb::server {
namespace {

class JobRpc final : public pb::JobService::CallbackService {
 public:
  JobRpc(JobService& service, const RpcParts& parts) : service_(service), parts_(parts) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const pb::SubmitJobRequest* request,
                                      pb::SubmitJobResponse* response) override {
    return RunAdmitted(
        context, parts_,
        [this](const Caller& caller, absl::Duration left) {
          return service_.AdmitSubmit(caller, left);
        },
        [=, this](const Caller& caller) {
          return service_.SubmitJob(caller, *request, *response, TraceparentOf(*context));
        });
  }
  grpc::ServerUnaryReactor* ValidateJob(grpc::CallbackServerContext* context,
                                        const pb::ValidateJobRequest* request,
                                        pb::ValidateJobResponse* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.ValidateJob(caller, *request, *response);
    });
  }
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const pb::GetJobRequest* request, pb::Job* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.GetJob(caller, *request, *response);
    });
  }
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const pb::ListJobsRequest* request,
                                     pb::ListJobsResponse* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.ListJobs(caller, *request, *response);
    });
  }
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const pb::CancelJobRequest* request,
                                      pb::Job* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.CancelJob(caller, *request, *response);
    });
  }
  grpc::ServerWriteReactor<pb::WatchJobResponse>* WatchJob(
      grpc::CallbackServerContext* context, const pb::WatchJobRequest* request) override {
    return FrameWriter<pb::WatchJobResponse>::Start(
        context, parts_, [=, this](const Caller& caller, std::function<void()> wake) {
          return service_.WatchJob(caller, *request, std::move(wake));
        });
  }
  grpc::ServerWriteReactor<pb::ReadLogResponse>* ReadLog(
      grpc::CallbackServerContext* context, const pb::ReadLogRequest* request) override {
    return FrameWriter<pb::ReadLogResponse>::Start(
        context, parts_, [=, this](const Caller& caller, std::function<void()> wake) {
          return service_.ReadLog(caller, *request, std::move(wake));
        });
  }
  grpc::ServerWriteReactor<pb::WatchJobsResponse>* WatchJobs(
      grpc::CallbackServerContext* context, const pb::WatchJobsRequest* request) override {
    return FrameWriter<pb::WatchJobsResponse>::Start(
        context, parts_, [=, this](const Caller& caller, std::function<void()> wake) {
          return service_.WatchJobs(caller, *request, std::move(wake));
        });
  }
  grpc::ServerUnaryReactor* CountJobs(grpc::CallbackServerContext* context,
                                      const pb::CountJobsRequest* request,
                                      pb::CountJobsResponse* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.CountJobs(caller, *request, *response);
    });
  }
  grpc::ServerUnaryReactor* ShareJob(grpc::CallbackServerContext* context,
                                     const pb::ShareJobRequest* request,
                                     pb::JobShares* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.ShareJob(caller, *request, *response);
    });
  }
  grpc::ServerUnaryReactor* UnshareJob(grpc::CallbackServerContext* context,
                                       const pb::UnshareJobRequest* request,
                                       pb::JobShares* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.UnshareJob(caller, *request, *response);
    });
  }
  grpc::ServerUnaryReactor* PinJob(grpc::CallbackServerContext* context,
                                   const pb::PinJobRequest* request, pb::Job* response) override {
    return RunUnary(context, parts_, [=, this](const Caller& caller) {
      return service_.PinJob(caller, *request, *response);
    });
  }

 private:
  JobService& service_;
  const RpcParts parts_;
};

}  // namespace

NamedService MakeJobRpc(JobService& service, const RpcParts& parts) {
  return {pb::JobService::service_full_name(), std::make_unique<JobRpc>(service, parts)};
}

}  // namespace qb::server

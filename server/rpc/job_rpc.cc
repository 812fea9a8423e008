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
  JobRpc(JobService& service, TaskPool& pool) : service_(service), pool_(pool) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const pb::SubmitJobRequest* request,
                                      pb::SubmitJobResponse* response) override {
    return RunUnary(context, pool_, [=, this] {
      return service_.SubmitJob(CallerOf(*context), *request, *response);
    });
  }
  grpc::ServerUnaryReactor* ValidateJob(grpc::CallbackServerContext* context,
                                        const pb::ValidateJobRequest* request,
                                        pb::ValidateJobResponse* response) override {
    return RunUnary(context, pool_, [=, this] {
      return service_.ValidateJob(CallerOf(*context), *request, *response);
    });
  }
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const pb::GetJobRequest* request, pb::Job* response) override {
    return RunUnary(context, pool_,
                    [=, this] { return service_.GetJob(CallerOf(*context), *request, *response); });
  }
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const pb::ListJobsRequest* request,
                                     pb::ListJobsResponse* response) override {
    return RunUnary(context, pool_, [=, this] {
      return service_.ListJobs(CallerOf(*context), *request, *response);
    });
  }
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const pb::CancelJobRequest* request,
                                      pb::Job* response) override {
    return RunUnary(context, pool_, [=, this] {
      return service_.CancelJob(CallerOf(*context), *request, *response);
    });
  }
  grpc::ServerWriteReactor<pb::WatchJobResponse>* WatchJob(
      grpc::CallbackServerContext* context, const pb::WatchJobRequest* request) override {
    return FrameWriter<pb::WatchJobResponse>::Start(
        context, pool_, [=, this](std::function<void()> wake) {
          return service_.WatchJob(CallerOf(*context), *request, std::move(wake));
        });
  }
  grpc::ServerWriteReactor<pb::ReadLogResponse>* ReadLog(
      grpc::CallbackServerContext* context, const pb::ReadLogRequest* request) override {
    return FrameWriter<pb::ReadLogResponse>::Start(
        context, pool_, [=, this](std::function<void()> wake) {
          return service_.ReadLog(CallerOf(*context), *request, std::move(wake));
        });
  }
  grpc::ServerWriteReactor<pb::WatchJobsResponse>* WatchJobs(
      grpc::CallbackServerContext* context, const pb::WatchJobsRequest* request) override {
    return FrameWriter<pb::WatchJobsResponse>::Start(
        context, pool_, [=, this](std::function<void()> wake) {
          return service_.WatchJobs(CallerOf(*context), *request, std::move(wake));
        });
  }
  grpc::ServerUnaryReactor* CountJobs(grpc::CallbackServerContext* context,
                                      const pb::CountJobsRequest* request,
                                      pb::CountJobsResponse* response) override {
    return RunUnary(context, pool_, [=, this] {
      return service_.CountJobs(CallerOf(*context), *request, *response);
    });
  }

 private:
  JobService& service_;
  TaskPool& pool_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeJobRpc(JobService& service, TaskPool& pool) {
  return std::make_unique<JobRpc>(service, pool);
}

}  // namespace qb::server

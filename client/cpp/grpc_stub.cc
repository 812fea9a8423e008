#include "client/cpp/grpc_stub.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "core/base/atomic_file.h"
#include "core/base/status_macros.h"
#include "proto/google/rpc/status.pb.h"
#include "proto/qbc/v1/blob_service.grpc.pb.h"
#include "proto/qbc/v1/job_service.grpc.pb.h"
#include "proto/qbc/v1/server_info.grpc.pb.h"

namespace qb::client {
namespace {

using qbc::v1::BlobService;
using qbc::v1::JobService;
using qbc::v1::ServerInfo;

// A connection that broke at a bad moment comes as one of these instead of Unavailable.
bool IsBrokenTransport(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::UNKNOWN &&
      status.error_code() != grpc::StatusCode::INTERNAL) {
    return false;
  }
  for (const char* words :
       {"Stream removed", "Socket closed", "Connection reset", "GOAWAY", "RST_STREAM"}) {
    if (absl::StrContains(status.error_message(), words)) {
      return true;
    }
  }
  return false;
}

// How long a call waits for a connection before it fails as UNAVAILABLE. Waiting matters: a
// synchronous channel makes progress only while somebody waits on it, so calls that fail at once
// while the server restarts would leave the new connection to a poller that wakes every 5 s.
constexpr std::chrono::seconds kConnectWait(1);
constexpr int64_t kMaxPemBytes = int64_t{4} << 20;

using Metadata = std::vector<std::pair<std::string, std::string>>;

// What every call of a caller carries.
Metadata MetadataOf(const ServerAccess& access) {
  Metadata metadata;
  if (!access.token.empty()) {
    metadata.emplace_back("authorization", absl::StrCat("Bearer ", access.token));
  }
  if (!access.traceparent.empty()) {
    metadata.emplace_back("traceparent", access.traceparent);
  }
  return metadata;
}

// A context with the options applied, on a channel that is connected if it can be; interruption
// cancels the call.
class CallContext {
 public:
  CallContext(const CallOptions& options, grpc::Channel& channel, const Metadata& metadata)
      : interruption_(options.interruption),
        on_interrupt_(options.interruption, [this] { context_.TryCancel(); }) {
    if (channel.GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY) {
      channel.WaitForConnected(std::chrono::system_clock::now() + kConnectWait);
    }
    for (const auto& [name, value] : metadata) {
      context_.AddMetadata(name, value);
    }
    if (options.timeout != absl::InfiniteDuration()) {
      context_.set_deadline(std::chrono::system_clock::now() +
                            absl::ToChronoNanoseconds(options.timeout));
    }
  }
  grpc::ClientContext* get() { return &context_; }

  // The status of this call. One that was cancelled, but not by us, ended with its server.
  absl::Status Convert(const grpc::Status& status) const {
    const bool interrupted = interruption_ != nullptr && interruption_->raised();
    if ((status.error_code() == grpc::StatusCode::CANCELLED && !interrupted) ||
        IsBrokenTransport(status)) {
      return absl::UnavailableError(absl::StrCat("the call broke off: ", status.error_message()));
    }
    // The numbers of the two enums are the same by design of both.
    absl::Status converted(static_cast<absl::StatusCode>(status.error_code()),
                           status.error_message());
    google::rpc::Status details;
    if (!converted.ok() && details.ParseFromString(status.error_details())) {
      for (const google::protobuf::Any& detail : details.details()) {
        converted.SetPayload(detail.type_url(), absl::Cord(detail.value()));
      }
    }
    return converted;
  }

  template <typename Response>
  absl::StatusOr<Response> Convert(const grpc::Status& status, Response response) const {
    if (!status.ok()) {
      return Convert(status);
    }
    return response;
  }

 private:
  grpc::ClientContext context_;
  Interruption* const interruption_;
  Interruption::Callback on_interrupt_;
};

// Reads a server stream to its end, or until `on_response` returns an error.
template <typename Reader, typename Response, typename OnResponse>
absl::Status Drain(CallContext& context, Reader& reader, Response response,
                   OnResponse on_response) {
  absl::Status callback_status;
  while (callback_status.ok() && reader.Read(&response)) {
    callback_status = on_response(response);
  }
  if (!callback_status.ok()) {
    context.get()->TryCancel();
    reader.Finish().ok();  // its status is only that we cancelled
    return callback_status;
  }
  return context.Convert(reader.Finish());
}

class GrpcStub final : public Stub {
 public:
  GrpcStub(const std::shared_ptr<grpc::Channel>& channel, const ServerAccess& access)
      : metadata_(MetadataOf(access)),
        channel_(channel),
        jobs_(JobService::NewStub(channel)),
        blobs_(BlobService::NewStub(channel)),
        info_(ServerInfo::NewStub(channel)) {}

  absl::StatusOr<qbc::v1::SubmitJobResponse> SubmitJob(const qbc::v1::SubmitJobRequest& request,
                                                       const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::SubmitJobResponse response;
    const grpc::Status status = jobs_->SubmitJob(context.get(), request, &response);
    return context.Convert(status, std::move(response));
  }

  absl::StatusOr<qbc::v1::ValidateJobResponse> ValidateJob(
      const qbc::v1::ValidateJobRequest& request, const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::ValidateJobResponse response;
    const grpc::Status status = jobs_->ValidateJob(context.get(), request, &response);
    return context.Convert(status, std::move(response));
  }

  absl::StatusOr<qbc::v1::Job> GetJob(const qbc::v1::GetJobRequest& request,
                                      const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::Job response;
    const grpc::Status status = jobs_->GetJob(context.get(), request, &response);
    return context.Convert(status, std::move(response));
  }

  absl::StatusOr<qbc::v1::ListJobsResponse> ListJobs(const qbc::v1::ListJobsRequest& request,
                                                     const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::ListJobsResponse response;
    const grpc::Status status = jobs_->ListJobs(context.get(), request, &response);
    return context.Convert(status, std::move(response));
  }

  absl::StatusOr<qbc::v1::Job> CancelJob(const qbc::v1::CancelJobRequest& request,
                                         const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::Job response;
    const grpc::Status status = jobs_->CancelJob(context.get(), request, &response);
    return context.Convert(status, std::move(response));
  }

  absl::StatusOr<qbc::v1::JobShares> ShareJob(const qbc::v1::ShareJobRequest& request,
                                              const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::JobShares response;
    const grpc::Status status = jobs_->ShareJob(context.get(), request, &response);
    return context.Convert(status, std::move(response));
  }

  absl::StatusOr<qbc::v1::JobShares> UnshareJob(const qbc::v1::UnshareJobRequest& request,
                                                const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::JobShares response;
    const grpc::Status status = jobs_->UnshareJob(context.get(), request, &response);
    return context.Convert(status, std::move(response));
  }

  absl::StatusOr<qbc::v1::Job> PinJob(const qbc::v1::PinJobRequest& request,
                                      const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::Job response;
    const grpc::Status status = jobs_->PinJob(context.get(), request, &response);
    return context.Convert(status, std::move(response));
  }

  absl::StatusOr<qbc::v1::FindMissingBlobsResponse> FindMissingBlobs(
      const qbc::v1::FindMissingBlobsRequest& request, const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::FindMissingBlobsResponse response;
    const grpc::Status status = blobs_->FindMissingBlobs(context.get(), request, &response);
    return context.Convert(status, std::move(response));
  }

  absl::StatusOr<qbc::v1::QueryWriteResponse> QueryWrite(const qbc::v1::QueryWriteRequest& request,
                                                         const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::QueryWriteResponse response;
    const grpc::Status status = blobs_->QueryWrite(context.get(), request, &response);
    return context.Convert(status, std::move(response));
  }

  absl::StatusOr<qbc::v1::GetCapabilitiesResponse> GetCapabilities(
      const CallOptions& options) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::GetCapabilitiesResponse response;
    const grpc::Status status = info_->GetCapabilities(context.get(), {}, &response);
    return context.Convert(status, std::move(response));
  }

  absl::Status WatchJob(
      const qbc::v1::WatchJobRequest& request, const CallOptions& options,
      absl::FunctionRef<bool(const qbc::v1::WatchJobResponse&)> on_response) override {
    CallContext context(options, *channel_, metadata_);
    bool stopped = false;
    auto reader = jobs_->WatchJob(context.get(), request);
    const absl::Status status =
        Drain(context, *reader, qbc::v1::WatchJobResponse(),
              [&](const qbc::v1::WatchJobResponse& response) {
                stopped = !on_response(response);
                return stopped ? absl::CancelledError("stopped by the caller") : absl::OkStatus();
              });
    return stopped ? absl::OkStatus() : status;
  }

  absl::Status ReadLog(
      const qbc::v1::ReadLogRequest& request, const CallOptions& options,
      absl::FunctionRef<absl::Status(const qbc::v1::ReadLogResponse&)> on_response) override {
    CallContext context(options, *channel_, metadata_);
    auto reader = jobs_->ReadLog(context.get(), request);
    return Drain(context, *reader, qbc::v1::ReadLogResponse(), on_response);
  }

  absl::Status ReadBlob(
      const qbc::v1::ReadBlobRequest& request, const CallOptions& options,
      absl::FunctionRef<absl::Status(const qbc::v1::ReadBlobResponse&)> on_response) override {
    CallContext context(options, *channel_, metadata_);
    auto reader = blobs_->ReadBlob(context.get(), request);
    return Drain(context, *reader, qbc::v1::ReadBlobResponse(), on_response);
  }

  absl::StatusOr<qbc::v1::WriteBlobResponse> WriteBlob(
      const qbc::v1::WriteBlobHeader& header, const CallOptions& options,
      absl::FunctionRef<absl::Status(std::string*)> next_chunk) override {
    CallContext context(options, *channel_, metadata_);
    qbc::v1::WriteBlobResponse response;
    auto writer = blobs_->WriteBlob(context.get(), &response);
    qbc::v1::WriteBlobRequest request;
    *request.mutable_header() = header;
    // A failed Write means that the server has answered already: Finish tells what.
    for (bool first = true;; first = false) {
      request.mutable_data()->clear();
      if (absl::Status status = next_chunk(request.mutable_data()); !status.ok()) {
        context.get()->TryCancel();
        writer->Finish().ok();  // its status is only that we cancelled
        return status;
      }
      if ((!first && request.data().empty()) || !writer->Write(request)) {
        break;
      }
      request.clear_header();
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    return context.Convert(status, std::move(response));
  }

 private:
  const Metadata metadata_;
  std::shared_ptr<grpc::Channel> channel_;  // gRPC shares it with the stubs
  std::unique_ptr<JobService::Stub> jobs_;
  std::unique_ptr<BlobService::Stub> blobs_;
  std::unique_ptr<ServerInfo::Stub> info_;
};

// Never plain beyond this machine: the token would be there for everybody to read.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const std::string& target, const ServerAccess& access) {
  const bool socket = absl::StartsWith(target, "unix:");
  const bool local = socket || absl::StartsWith(target, "127.0.0.1:") ||
                     absl::StartsWith(target, "localhost:") || absl::StartsWith(target, "[::1]:");
  if (socket || (local && access.tls_ca.empty())) {
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  if (!access.tls_ca.empty()) {
    QB_ASSIGN_OR_RETURN(options.pem_root_certs, ReadFile(access.tls_ca, kMaxPemBytes));
  }
  if (!access.tls_cert.empty()) {
    QB_ASSIGN_OR_RETURN(options.pem_cert_chain, ReadFile(access.tls_cert, kMaxPemBytes));
    QB_ASSIGN_OR_RETURN(options.pem_private_key, ReadFile(access.tls_key, kMaxPemBytes));
  }
  return grpc::SslCredentials(options);
}

}  // namespace

absl::StatusOr<std::string> ParseServerAddress(absl::string_view address) {
  absl::string_view path = address;
  if (absl::ConsumePrefix(&path, "unix://") || absl::ConsumePrefix(&path, "unix:") ||
      absl::StartsWith(path, "/")) {
    if (!path.empty()) {
      return absl::StrCat("unix:", path);
    }
  }
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon != absl::string_view::npos && colon > 0 &&
      absl::SimpleAtoi(address.substr(colon + 1), &port) && port > 0 && port < 65536 &&
      !absl::StrContains(address, '/')) {
    return std::string(address);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("server address '", address,
                   "': accepted are unix:/path/to/socket, "
                   "/path/to/socket and host:port, e.g. 127.0.0.1:7410"));
}

absl::StatusOr<std::unique_ptr<Stub>> CreateGrpcStub(const ServerAccess& access) {
  // gRPC ends itself when its last object goes, and then waits up to 10 s for a poller. One
  // reference that is never given back leaves that to the end of the process.
  static const bool initialized = [] {
    grpc_init();
    return true;
  }();
  static_cast<void>(initialized);
  QB_ASSIGN_OR_RETURN(const std::string target, ParseServerAddress(access.address));
  QB_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials,
                      MakeCredentials(target, access));
  grpc::ChannelArguments arguments;
  // A silent peer is noticed within 50 s; the server permits pings every 10 s.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Our own retries set the pace; the channel must not hide a server that is back.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A proxy setting of the shell must not swallow calls to this machine.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return std::make_unique<GrpcStub>(grpc::CreateCustomChannel(target, credentials, arguments),
                                    access);
}

}  // namespace qb::client

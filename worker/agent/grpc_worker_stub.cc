#include "worker/agent/grpc_worker_stub.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/blob_service.grpc.pb.h"
#include "proto/qbc/v1/worker_service.grpc.pb.h"

namespace qb::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kCallDeadline(10);
// A stream ends itself when the peer is gone (keepalive) or the attempt is stopped; the deadline is
// only the last resort.
constexpr seconds kStreamDeadline(3600);
constexpr seconds kConnectWait(1);
constexpr int kMaxAnswerBytes = 256 << 20;
constexpr int64_t kMaxPemBytes = int64_t{4} << 20;

// A connection that broke in the middle of a call shows as one of these instead of UNAVAILABLE.
bool IsBrokenConnection(const grpc::Status& status) {
  const std::string& message = status.error_message();
  return (status.error_code() == grpc::StatusCode::UNKNOWN ||
          status.error_code() == grpc::StatusCode::INTERNAL) &&
         (absl::StrContains(message, "Stream removed") ||
          absl::StrContains(message, "RST_STREAM") || absl::StrContains(message, "Socket closed") ||
          absl::StrContains(message, "GOAWAY"));
}

absl::Status ToAbsl(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  if (IsBrokenConnection(status)) {
    return absl::UnavailableError(status.error_message());
  }
  // The codes of gRPC and Abseil are the same numbers.
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

bool IsLocal(absl::string_view server) {
  return absl::StartsWith(server, "unix:") || absl::StartsWith(server, "127.0.0.1:") ||
         absl::StartsWith(server, "[::1]:") || absl::StartsWith(server, "localhost:");
}

// gRPC ends itself when its last object goes, and then waits up to 10 s for a poller. One reference
// that is never given back leaves that to the end of the process.
void KeepGrpcInitialized() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  static_cast<void>(kept);
}

std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& server, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  // A restarted server is found within a second.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Several assignments with manifests of up to 4 MiB each may come in one answer.
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  // We retry with the protocol's own rules (fences, offsets).
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(server, credentials, arguments);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeTls(const ServerAccess& access) {
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

class GrpcWorkerStub final : public WorkerStub {
 public:
  GrpcWorkerStub(const std::shared_ptr<grpc::Channel>& channel, const std::string& token)
      : authorization_(token.empty() ? "" : absl::StrCat("Bearer ", token)),
        channel_(channel),
        worker_(v1::WorkerService::NewStub(channel)),
        blobs_(v1::BlobService::NewStub(channel)) {}

  absl::StatusOr<v1::SyncResponse> Sync(const v1::SyncRequest& request,
                                        CallHandle& handle) override {
    QB_RETURN_IF_ERROR(WaitForConnection());
    grpc::ClientContext context;
    Prepare(context, kCallDeadline + seconds(request.max_wait().seconds() + 1));
    v1::SyncResponse response;
    handle.Begin([&context] { context.TryCancel(); });
    const grpc::Status status = worker_->Sync(&context, request, &response);
    handle.End();
    QB_RETURN_IF_ERROR(ToAbsl(status));
    return response;
  }

  absl::StatusOr<v1::AppendEventsResponse> AppendEvents(
      const v1::AppendEventsRequest& request) override {
    return Call<v1::AppendEventsResponse>(*worker_, &v1::WorkerService::Stub::AppendEvents,
                                          request);
  }
  absl::StatusOr<v1::PutLogResponse> PutLog(const v1::PutLogRequest& request) override {
    return Call<v1::PutLogResponse>(*worker_, &v1::WorkerService::Stub::PutLog, request);
  }
  absl::StatusOr<v1::CompleteAttemptResponse> CompleteAttempt(
      const v1::CompleteAttemptRequest& request) override {
    return Call<v1::CompleteAttemptResponse>(*worker_, &v1::WorkerService::Stub::CompleteAttempt,
                                             request);
  }
  absl::StatusOr<v1::QueryWriteResponse> QueryWrite(const v1::QueryWriteRequest& request) override {
    return Call<v1::QueryWriteResponse>(*blobs_, &v1::BlobService::Stub::QueryWrite, request);
  }

  absl::Status ReadBlob(const v1::ReadBlobRequest& request, BlobSink sink) override {
    QB_RETURN_IF_ERROR(WaitForConnection());
    grpc::ClientContext context;
    Prepare(context, kStreamDeadline);
    int64_t offset = request.offset();
    const std::unique_ptr<grpc::ClientReader<v1::ReadBlobResponse>> reader =
        blobs_->ReadBlob(&context, request);
    v1::ReadBlobResponse response;
    absl::Status sunk;
    while (sunk.ok() && reader->Read(&response)) {
      if (response.offset() != offset) {
        sunk =
            absl::DataLossError(absl::StrCat("blob ", request.sha256(), ": the server sent offset ",
                                             response.offset(), " after ", offset));
        break;
      }
      offset += static_cast<int64_t>(response.data().size());
      sunk = sink(response.data());
    }
    if (!sunk.ok()) {
      context.TryCancel();
      while (reader->Read(&response)) {
      }
    }
    const absl::Status status = ToAbsl(reader->Finish());
    return sunk.ok() ? status : sunk;
  }

  absl::StatusOr<v1::WriteBlobResponse> WriteBlob(const v1::WriteBlobHeader& header,
                                                  BlobSource source) override {
    QB_RETURN_IF_ERROR(WaitForConnection());
    grpc::ClientContext context;
    Prepare(context, kStreamDeadline);
    v1::WriteBlobResponse response;
    const std::unique_ptr<grpc::ClientWriter<v1::WriteBlobRequest>> writer =
        blobs_->WriteBlob(&context, &response);
    v1::WriteBlobRequest request;
    *request.mutable_header() = header;
    absl::Status sourced;
    // A failed Write means that the server has answered already: Finish tells what.
    while (writer->Write(request)) {
      absl::StatusOr<std::string> bytes = source();
      if (!bytes.ok() || bytes->empty()) {
        sourced = bytes.status();
        break;
      }
      request.clear_header();
      request.set_data(*std::move(bytes));
    }
    if (sourced.ok()) {
      writer->WritesDone();
    } else {
      context.TryCancel();
    }
    const absl::Status status = ToAbsl(writer->Finish());
    QB_RETURN_IF_ERROR(sourced);
    QB_RETURN_IF_ERROR(status);
    return response;
  }

 private:
  void Prepare(grpc::ClientContext& context, milliseconds timeout) const {
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    if (!authorization_.empty()) {
      context.AddMetadata("authorization", authorization_);
    }
  }

  // A synchronous channel makes progress only while some call waits on it. Calls that fail at once
  // while the server restarts would leave the new connection to a poller that wakes every 5 s.
  absl::Status WaitForConnection() {
    if (channel_->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY ||
        channel_->WaitForConnected(std::chrono::system_clock::now() + kConnectWait)) {
      return absl::OkStatus();
    }
    return absl::UnavailableError("no connection to the server");
  }

  template <typename Response, typename Stub, typename Method, typename Request>
  absl::StatusOr<Response> Call(Stub& stub, Method method, const Request& request) {
    QB_RETURN_IF_ERROR(WaitForConnection());
    grpc::ClientContext context;
    Prepare(context, kCallDeadline);
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    QB_RETURN_IF_ERROR(ToAbsl(status));
    return response;
  }

  const std::string authorization_;  // the header; "": none
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::WorkerService::Stub> worker_;
  const std::unique_ptr<v1::BlobService::Stub> blobs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerStub>> MakeGrpcWorkerStub(const ServerAccess& access) {
  const std::string& server = access.server;
  const bool socket = absl::StartsWith(server, "unix:");
  if (!socket && (server.rfind(':') == std::string::npos || server.rfind(':') == 0 ||
                  absl::StrContains(server, '/'))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--server '", server, "': accepted are unix:/path and host:port"));
  }
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!IsLocal(server) || (!socket && !access.tls_ca.empty())) {
    QB_ASSIGN_OR_RETURN(credentials, MakeTls(access));
  }
  KeepGrpcInitialized();
  return std::make_unique<GrpcWorkerStub>(MakeChannel(server, credentials), access.token);
}

}  // namespace qb::worker

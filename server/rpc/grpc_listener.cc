#include "server/rpc/grpc_listener.h"

#include <grpcpp/resource_quota.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"

namespace qb::server {
namespace {

constexpr size_t kMemoryForCallsBytes = size_t{256} << 20;
constexpr int kMaxStreamsPerConnection = 1000;
constexpr int kMinPingIntervalMs = 10'000;

}  // namespace

absl::Status BindListener(absl::string_view flag, GrpcListener& listener) {
  grpc::ServerBuilder builder;
  grpc::ResourceQuota quota("qbc-server");
  quota.Resize(kMemoryForCallsBytes);
  builder.SetResourceQuota(quota);
  // Off: two servers would share a port, and each would see half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  int port = 0;
  builder.AddListeningPort(listener.listen.ToGrpc(), listener.credentials, &port);
  for (const auto& service : listener.services) {
    builder.RegisterService(service.get());
  }
  // The socket is made with the mode that the mask leaves: 0600, from its first moment.
  const mode_t mask = umask(0177);
  listener.grpc = builder.BuildAndStart();
  umask(mask);
  if (listener.grpc == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(flag, ": cannot listen on '", listener.listen.ToGrpc(), "': is it in use?"));
  }
  listener.address = listener.listen.unix_path.empty()
                         ? absl::StrCat(listener.listen.host, ":", port)
                         : listener.listen.ToGrpc();
  return absl::OkStatus();
}

}  // namespace qb::server

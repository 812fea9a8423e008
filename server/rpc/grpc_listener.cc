#include "server/rpc/grpc_listener.h"

#include <errno.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "server/rpc/unreadable_request.h"

namespace qb::server {
namespace {

constexpr size_t kMemoryForCallsBytes = size_t{256} << 20;
constexpr int kMaxStreamsPerConnection = 1000;
constexpr int kMinPingIntervalMs = 10'000;

// gRPC does not tell why it could not listen: a try of our own does.
std::string WhyNotBound(const ListenAddress& listen) {
  if (!listen.unix_path.empty()) {
    return "its folder must be there and be writable";
  }
  std::string host = listen.host;
  if (absl::StartsWith(host, "[")) {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int failed =
          getaddrinfo(host.c_str(), absl::StrCat(listen.port).c_str(), &hints, &found);
      failed != 0) {
    return gai_strerror(failed);
  }
  std::string why = "gRPC gives no reason";
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, 1) != 0) {
    why = errno == EADDRINUSE ? "the port is in use by another process" : strerror(errno);
  }
  if (fd >= 0) {
    close(fd);
  }
  freeaddrinfo(found);
  return why;
}

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
  std::vector<absl::string_view> names;
  names.reserve(listener.services.size());
  for (const NamedService& named : listener.services) {
    builder.RegisterService(named.service.get());
    names.push_back(named.name);
  }
  builder.experimental().SetInterceptorCreators(UnreadableRequestAnswers(names));
  // The socket is made with the mode that the mask leaves: 0600, from its first moment.
  const mode_t mask = umask(0177);
  listener.grpc = builder.BuildAndStart();
  umask(mask);
  if (listener.grpc == nullptr) {
    return absl::UnavailableError(absl::StrCat(flag, ": cannot listen on '",
                                               listener.listen.ToGrpc(),
                                               "': ", WhyNotBound(listener.listen)));
  }
  listener.address = listener.listen.unix_path.empty()
                         ? absl::StrCat(listener.listen.host, ":", port)
                         : listener.listen.ToGrpc();
  SetHealth(listener, true);
  return absl::OkStatus();
}

void SetHealth(const GrpcListener& listener, bool serving) {
  grpc::HealthCheckServiceInterface* health = listener.grpc->GetHealthCheckService();
  health->SetServingStatus(serving);
  for (const NamedService& named : listener.services) {
    health->SetServingStatus(named.name, serving);
  }
}

}  // namespace qb::server

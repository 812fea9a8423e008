#include "server/http/http_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "server/http/http_exchange.h"

namespace qb::server {
namespace {

// Of request line and headers together.
constexpr size_t kMaxHeadBytes = size_t{32} << 10;

class MhdServer final : public HttpServer {
 public:
  MhdServer(HttpServerOptions options, HttpHandler handler) {
    shared_.options = std::move(options);
    shared_.handler = std::move(handler);
    shared_.pool = std::make_unique<TaskPool>(shared_.options.threads, shared_.options.max_queued);
  }
  ~MhdServer() override { Shutdown(); }

  absl::Status Start();
  int port() const override { return port_; }
  void Shutdown() override;

 private:
  struct Slot;
  using Slots = std::list<std::unique_ptr<Slot>>;
  // What libmicrohttpd carries for a request.
  struct Slot {
    std::shared_ptr<HttpExchange> exchange;
    Slots::iterator place;
  };

  // libmicrohttpd's MHD_AccessHandlerCallback.
  // NOLINTNEXTLINE(readability-function-size)
  static MHD_Result OnRequest(void* server, MHD_Connection* connection, const char* url,
                              const char* method, const char* version, const char* upload,
                              size_t* upload_bytes, void** slot);
  static void OnCompleted(void* server, MHD_Connection* connection, void** slot,
                          MHD_RequestTerminationCode code);

  HttpShared shared_;
  absl::Mutex mutex_;
  Slots slots_ ABSL_GUARDED_BY(mutex_);
  MHD_Daemon* daemon_ = nullptr;
  int port_ = 0;
};

// NOLINTNEXTLINE(readability-function-size)
MHD_Result MhdServer::OnRequest(void* server, MHD_Connection* connection, const char* url,
                                const char* method, const char* /*version*/, const char* /*upload*/,
                                size_t* upload_bytes, void** slot) {
  auto* self = static_cast<MhdServer*>(server);
  if (*slot == nullptr) {
    absl::MutexLock lock(&self->mutex_);
    self->slots_.push_back(std::make_unique<Slot>());
    Slot& made = *self->slots_.back();
    made.exchange = std::make_shared<HttpExchange>(self->shared_, connection);
    made.place = std::prev(self->slots_.end());
    *slot = &made;
    return MHD_YES;
  }
  if (*upload_bytes != 0) {
    *upload_bytes = 0;  // a body: read and thrown away
    return MHD_YES;
  }
  const std::shared_ptr<HttpExchange> exchange = static_cast<Slot*>(*slot)->exchange;
  return exchange->OnRequest(method, url);
}

void MhdServer::OnCompleted(void* server, MHD_Connection* /*connection*/, void** slot,
                            MHD_RequestTerminationCode /*code*/) {
  if (*slot == nullptr) {
    return;
  }
  auto* self = static_cast<MhdServer*>(server);
  const std::shared_ptr<HttpExchange> exchange = static_cast<Slot*>(*slot)->exchange;
  exchange->OnCompleted();
  absl::MutexLock lock(&self->mutex_);
  self->slots_.erase(static_cast<Slot*>(*slot)->place);
  *slot = nullptr;
}

absl::Status MhdServer::Start() {
  const HttpServerOptions& options = shared_.options;
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  const bool six = options.host == "::1";
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<uint16_t>(options.port));
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  v6.sin6_addr = in6addr_loopback;
  const auto* address =
      six ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  const unsigned int flags = static_cast<unsigned int>(MHD_USE_EPOLL_INTERNAL_THREAD) |
                             static_cast<unsigned int>(MHD_ALLOW_SUSPEND_RESUME) |
                             (six ? static_cast<unsigned int>(MHD_USE_IPv6) : 0U);
  daemon_ = MHD_start_daemon(
      flags, static_cast<uint16_t>(options.port), nullptr, nullptr, &OnRequest, this,
      MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_NOTIFY_COMPLETED, &OnCompleted, this,
      MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned int>(options.max_connections),
      MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned int>(absl::ToInt64Seconds(options.idle)),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMaxHeadBytes, MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_LISTENING_ADDRESS_REUSE, 0U, MHD_OPTION_END);
  if (daemon_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("--http-listen: cannot listen on ", options.host,
                                               " port ", options.port, ": is it in use?"));
  }
  const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT);
  port_ = info != nullptr && info->port != 0 ? info->port : options.port;
  return absl::OkStatus();
}

void MhdServer::Shutdown() {
  if (daemon_ == nullptr) {
    return;
  }
  const MHD_socket listener = MHD_quiesce_daemon(daemon_);
  {
    absl::MutexLock lock(&shared_.mutex);
    shared_.closing = true;
  }
  std::vector<std::shared_ptr<HttpExchange>> open;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& slot : slots_) {
      open.push_back(slot->exchange);
    }
  }
  for (const std::shared_ptr<HttpExchange>& exchange : open) {
    exchange->Abort();
  }
  open.clear();
  // Afterwards no connection is suspended, which is what MHD_stop_daemon asks for.
  shared_.pool->Shutdown();
  MHD_stop_daemon(daemon_);
  daemon_ = nullptr;
  if (listener != MHD_INVALID_SOCKET) {
    close(listener);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(HttpServerOptions options,
                                                            HttpHandler handler) {
  auto server = std::make_unique<MhdServer>(std::move(options), std::move(handler));
  const absl::Status status = server->Start();
  if (!status.ok()) {
    return status;
  }
  return server;
}

}  // namespace qb::server

#include "server/listeners.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb::server {

absl::StatusOr<ListenAddress> PlanClientListener(const ServerOptions& options) {
  QB_ASSIGN_OR_RETURN(ListenAddress listen, ParseListenAddress("--listen", options.listen));
  if (listen.unix_path.empty() && !listen.loopback &&
      !(options.tls.enabled() && options.require_credentials)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen: '", options.listen,
                     "': refused: beyond this machine the server needs --tls-cert, --tls-key and "
                     "--auth required"));
  }
  if (options.tls.enabled() && !listen.unix_path.empty()) {
    return absl::InvalidArgumentError("--tls-cert: a unix socket has no TLS");
  }
  return listen;
}

absl::StatusOr<ListenAddress> PlanWorkerListener(const ServerOptions& options) {
  const std::string address = options.worker_listen.empty()
                                  ? absl::StrCat("unix:", options.data_dir, "/worker.sock")
                                  : options.worker_listen;
  QB_ASSIGN_OR_RETURN(ListenAddress listen, ParseListenAddress("--worker-listen", address));
  const bool needs_tls = !listen.loopback || !options.worker_client_ca.empty();
  if (listen.unix_path.empty() && !options.tls.enabled() && needs_tls) {
    return absl::InvalidArgumentError(
        "--worker-listen: beyond this machine, and with --worker-client-ca, it needs "
        "--tls-cert and --tls-key");
  }
  return listen;
}

absl::StatusOr<ListenAddress> PlanHttpListener(const ServerOptions& options) {
  QB_ASSIGN_OR_RETURN(ListenAddress listen,
                      ParseListenAddress("--http-listen", options.http_listen));
  if (!listen.loopback) {
    return absl::InvalidArgumentError(
        absl::StrCat("--http-listen: '", options.http_listen,
                     "': expected 127.0.0.1:PORT or [::1]:PORT: it has no TLS"));
  }
  return listen;
}

TlsFiles WorkerTls(const ServerOptions& options, const ListenAddress& listen) {
  TlsFiles tls;
  if (listen.unix_path.empty()) {
    tls = options.tls;
    tls.client_ca = options.worker_client_ca;
  }
  return tls;
}

}  // namespace qb::server

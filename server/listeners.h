// Where a server listens and with which TLS files, from its options: what is checked before
// anything is opened.
#pragma once

#include "absl/status/statusor.h"

#include "server/build_server.h"
#include "server/rpc/listen_address.h"

namespace qb::server {

// Errors of all: InvalidArgument that names the flag, for a malformed address and for what would
// let strangers in.
absl::StatusOr<ListenAddress> PlanClientListener(const ServerOptions& options);
// The listener that workers have when credentials are required.
absl::StatusOr<ListenAddress> PlanWorkerListener(const ServerOptions& options);
// `options.http_listen` must not be "".
absl::StatusOr<ListenAddress> PlanHttpListener(const ServerOptions& options);

// TLS of PlanWorkerListener's address.
TlsFiles WorkerTls(const ServerOptions& options, const ListenAddress& listen);

}  // namespace qb::server

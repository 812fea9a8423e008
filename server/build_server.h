// Puts a server together: the one file that knows all its parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/base/log_line.h"
#include "server/blobs/attempt_logs.h"
#include "server/blobs/blob_store.h"
#include "server/dispatch/dispatcher.h"
#include "server/jobs/retention_policy.h"
#include "server/jobs/sqlite_job_store.h"
#include "server/quota/overload.h"
#include "server/quota/tenant_limits.h"
#include "server/rpc/server_credentials.h"
#include "server/service/job_spec_check.h"

namespace qb::server {

struct ServerOptions {
  // Holds the database, blobs, uploads and logs; made when it is not there. One server at a time.
  std::string data_dir;
  // "unix:/path" (mode 0600) or "HOST:PORT", port 0 for any. Other hosts than this machine need TLS
  // and credentials.
  std::string listen;
  TlsFiles tls;  // of `listen`, when that is no unix socket
  // Callers show a credential of <data_dir>/credentials.json, and the agents of workers come on
  // worker_listen. Off: everybody who can connect is one tenant with every right, agents included.
  bool require_credentials = false;
  // Where the agents come when credentials are required. "": unix:<data_dir>/worker.sock. On a unix
  // socket whoever can connect is an agent; on a port an agent shows a certificate of
  // worker_client_ca or, without that, a token with the scope work.
  std::string worker_listen;
  std::string worker_client_ca;
  // "127.0.0.1:PORT" of the HTTP listener: dashboard, read API, health, metrics. "": none.
  std::string http_listen;
  std::string version;  // of this program
  std::vector<std::string> targets;
  DispatcherOptions dispatch;
  SqliteJobStoreOptions store;
  BlobStoreOptions blobs;
  AttemptLogOptions logs;
  JobLimits limits;
  TenantLimits tenant_limits;  // of tenants where limits_file says nothing
  std::string limits_file;     // see LimitBook; "": none
  OverloadOptions overload;
  int64_t min_free_bytes = 0;  // see DiskGuard: below it no new jobs and uploads
  RetentionPolicy retention;
  // Pause between two rounds of removing what is kept no longer. Default 60 s.
  int64_t collect_interval_ms = 60'000;
  // Threads for everything that may wait for a disk. Most of them wait for the same commit at a
  // time, so there are more of them than CPUs. Default 32.
  int pool_threads = 32;
  // Calls that may wait for a thread; more are answered UNAVAILABLE. Default 4096.
  size_t max_queued_calls = 4096;
  // Timeouts are looked at this often. Default 50 ms.
  absl::Duration tick = absl::Milliseconds(50);
  Log log;
  // The store can no longer promise anything; the program should end. Any thread, must not wait.
  std::function<void(const absl::Status&)> on_fatal;
};

// A server that answers calls from Create until Shutdown.
class CompileServer {
 public:
  virtual ~CompileServer() = default;

  // Where it listens, as a client takes it: "unix:/path" or "127.0.0.1:4711".
  virtual const std::string& address() const = 0;
  // Where agents of workers connect: address(), or one of their own.
  virtual const std::string& worker_address() const = 0;
  // "http://127.0.0.1:8080", or "" without an HTTP listener.
  virtual const std::string& http_address() const = 0;
  // Says in its health that it is going, gives out no more work and refuses new jobs; everything
  // else goes on until Shutdown.
  virtual void BeginDrain() = 0;
  // Ends open streams and waits, gives other calls up to `grace`, closes the store. Idempotent.
  virtual void Shutdown(absl::Duration grace) = 0;
};

// Errors: InvalidArgument (address); FailedPrecondition (folder or socket in use, database of a
// newer version); Unavailable (the port is taken); those of files.
absl::StatusOr<std::unique_ptr<CompileServer>> BuildServer(ServerOptions options);

}  // namespace qb::server

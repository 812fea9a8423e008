// The HTTP listener: libmicrohttpd in front, a few threads of our own behind it.
//
// libmicrohttpd's one thread reads and writes sockets and never waits for anything else: a request
// is suspended while a thread of the pool answers it, and a stream is suspended while it has
// nothing to send. So a thousand open pages cost memory and no threads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "server/http/http_message.h"

namespace qb::server {

struct HttpDone {
  std::string route;  // "" when no handler was asked
  std::string method;
  int status = 0;
  absl::Duration duration;  // until the answer was ready; of a stream, until its start
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // or "::1"
  int port = 0;                    // 0: any free one
  int threads = 8;                 // that answer requests
  size_t max_queued = 256;         // requests that wait for a thread; more get 503
  int max_connections = 1024;
  int max_streams = 256;                            // open at a time; more get 503
  absl::Duration idle = absl::Seconds(30);          // after which a silent connection is closed
  absl::Duration sign_of_life = absl::Seconds(15);  // longest silence of an event stream
  std::function<void(const HttpDone&)> on_done;     // any thread; must not wait
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  // Ends streams, answers what is under way, closes. Idempotent.
  virtual void Shutdown() = 0;
};

// Answers requests from now until Shutdown. Errors: Unavailable (the port is taken).
absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(HttpServerOptions options,
                                                            HttpHandler handler);

}  // namespace qb::server

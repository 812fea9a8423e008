// Where the server listens: only where nobody but this machine can reach it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb::server {

struct ListenAddress {
  std::string unix_path;  // set for "unix:/path"
  std::string host;       // set for "host:port": "127.0.0.1" or "[::1]"
  int port = 0;           // 0: any free one

  // As gRPC takes it: "unix:/path" or "127.0.0.1:0".
  std::string ToGrpc() const;
};

// `flag` is named in errors. Errors: InvalidArgument for a malformed address, a relative or too
// long path (107 bytes), and every host but 127.0.0.1, [::1] and localhost: without TLS and tokens
// nobody else may reach the server.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text,
                                                 absl::string_view flag = "--listen");

}  // namespace qb::server

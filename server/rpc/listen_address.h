// Where a server listens.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb::server {

struct ListenAddress {
  std::string unix_path;  // set for "unix:/path"
  std::string host;       // set for "host:port": "127.0.0.1", "[::1]", "0.0.0.0", a name
  int port = 0;           // 0: any free one
  bool loopback = false;  // the host is this machine, seen from itself

  // As gRPC takes it: "unix:/path" or "127.0.0.1:0".
  std::string ToGrpc() const;
};

// `flag` is named in errors. Errors: InvalidArgument for a malformed address and a relative or too
// long path (107 bytes).
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view flag, absl::string_view text);

}  // namespace qb::server

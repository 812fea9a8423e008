// What this server can do, told to clients.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "proto/qbc/v1/server_info.pb.h"
#include "server/auth/authorize.h"
#include "server/dispatch/dispatcher.h"

namespace qb::server {

// Thread-safe. Does not wait.
class ServerInfo {
 public:
  // `dispatcher` outlives it. `fixed` has what does not change: versions, targets, limits.
  ServerInfo(const Dispatcher& dispatcher, qbc::v1::GetCapabilitiesResponse fixed)
      : dispatcher_(dispatcher), fixed_(std::move(fixed)) {}

  absl::Status GetCapabilities(const Caller& caller, qbc::v1::GetCapabilitiesResponse& response);

 private:
  const Dispatcher& dispatcher_;
  const qbc::v1::GetCapabilitiesResponse fixed_;
};

}  // namespace qb::server

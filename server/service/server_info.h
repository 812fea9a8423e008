// What this server can do, told to clients.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "proto/qbc/v1/server_info.pb.h"
#include "server/auth/authorize.h"
#include "server/blobs/blob_index.h"
#include "server/dispatch/dispatcher.h"
#include "server/jobs/job_store.h"
#include "server/quota/tenant_limits.h"

namespace qb::server {

// What the service works with; all of them outlive it.
struct ServerInfoParts {
  const Dispatcher& dispatcher;
  JobStore& store;
  BlobIndex& index;
  const LimitBook& limits;
};

// Thread-safe. Calls wait for the store.
class ServerInfo {
 public:
  // `fixed` has what does not change: versions, targets, limits.
  ServerInfo(const ServerInfoParts& parts, qbc::v1::GetCapabilitiesResponse fixed)
      : parts_(parts), fixed_(std::move(fixed)) {}

  absl::Status GetCapabilities(const Caller& caller, qbc::v1::GetCapabilitiesResponse& response);

 private:
  absl::Status AddUsage(const std::string& tenant, qbc::v1::GetCapabilitiesResponse& response);

  const ServerInfoParts parts_;
  const qbc::v1::GetCapabilitiesResponse fixed_;
};

}  // namespace qb::server

// The one question that every access asks: may this caller do this to that?
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace qb::server {

// Who calls. Until tokens exist everybody who can reach the socket is the one tenant there is.
struct Caller {
  std::string tenant = "default";
};

enum class ResourceKind { kJob, kBlob, kWorkerWork, kServer };
enum class Verb { kRead, kCreate, kCancel, kReport };

struct Resource {
  ResourceKind kind;
  std::string tenant;  // that owns it
};

// OK, or PermissionDenied with what was refused. A caller reaches what its own tenant owns, and may
// report only about the work of workers.
absl::Status Authorize(const Caller& caller, const Resource& resource, Verb verb);

}  // namespace qb::server

// What callers hear of a server that ends.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace qb::server {

// Unavailable "SERVER_DRAINING: ...": another process of the server will answer in a moment.
// `go_on` says what the caller does then.
inline absl::Status ServerDraining(absl::string_view go_on) {
  return absl::UnavailableError(absl::StrCat("SERVER_DRAINING: the server is ending: ", go_on));
}

}  // namespace qb::server

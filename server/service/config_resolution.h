// The settings of a job, resolved where it is submitted: a mistake shows at once, not after a wait.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "proto/qbc/v1/job.pb.h"

namespace qb::server {

// Resolves preset, file text, overrides and device of `spec`, whose overrides are a checked JSON
// object (ResolveCompilerFlags). Returns one JSON object: "config" with every setting that applies,
// "origins" of those that are not defaults, and "warnings" when there are any. Errors:
// InvalidArgument with CONFIG_ERROR, which lists every problem with its path.
absl::StatusOr<std::string> ResolveConfigJson(const qbc::v1::JobSpec& spec);

}  // namespace qb::server

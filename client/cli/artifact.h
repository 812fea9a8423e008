// Which of a job's results is meant, and fetching it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "client/cli/session.h"
#include "proto/qbc/v1/job.pb.h"

namespace qb::client {

// The artifact with this name; for "" the .mxq, or the only one there is. Errors: kExitNotFound,
// listing the names.
absl::StatusOr<qbc::v1::Artifact> ChooseArtifact(const qbc::v1::Job& job, absl::string_view name);

// Downloads it to `path` under the view.
absl::Status FetchArtifact(Session& session, const qbc::v1::Artifact& artifact,
                           const std::string& path);

}  // namespace qb::client

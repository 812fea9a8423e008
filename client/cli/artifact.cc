#include "client/cli/artifact.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cli/json_form.h"
#include "client/cpp/download.h"
#include "core/base/status_macros.h"

namespace qb::client {

absl::StatusOr<qbc::v1::Artifact> ChooseArtifact(const qbc::v1::Job& job, absl::string_view name) {
  std::vector<std::string> names;
  for (const qbc::v1::Artifact& artifact : job.artifacts()) {
    names.push_back(artifact.name());
    const bool wanted = name.empty()
                            ? absl::EndsWith(artifact.name(), ".mxq") || job.artifacts_size() == 1
                            : artifact.name() == name;
    if (wanted) {
      return artifact;
    }
  }
  const std::string wanted = name.empty() ? "an .mxq" : absl::StrCat("'", name, "'");
  return absl::NotFoundError(
      absl::StrCat("job ", job.id(), " (", StateName(job.state()), ") has no result ", wanted,
                   "; it has: ", names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

absl::Status FetchArtifact(Session& session, const qbc::v1::Artifact& artifact,
                           const std::string& path) {
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  absl::Status status =
      DownloadArtifact(*connection, artifact, path, [&](int64_t done_bytes, int64_t total_bytes) {
        session.view().OnDownload(done_bytes, total_bytes);
      });
  session.view().Clear();
  return status;
}

}  // namespace qb::client

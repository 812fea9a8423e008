// From a job's spec to the command line of its compile process.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "proto/qbc/v1/job.pb.h"
#include "proto/qbc/v1/worker_service.pb.h"
#include "server/jobs/job_store.h"

namespace qb::server {

// The flags of `qbcompiler compile` that do not name files: target, preset, device, threads and
// those of config.overrides_json. The agent adds the ones with paths. Errors: InvalidArgument with
// CONFIG_ERROR that names the field, what was found and what is accepted.
absl::StatusOr<std::vector<std::string>> ResolveCompilerFlags(const qbc::v1::JobSpec& spec);

// What a worker is told. The spec was checked when the job was submitted; if a newer server no
// longer accepts it, the error is that of ResolveCompilerFlags.
absl::StatusOr<qbc::v1::Assignment> MakeAssignment(const LeasedAttempt& leased);

}  // namespace qb::server

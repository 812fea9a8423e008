// The settings of a job, resolved where it is submitted: a mistake shows at once, not after a wait.
#pragma once

#include <string>
#include <vector>

#include "proto/qbc/v1/job.pb.h"
#include "server/service/violations.h"

namespace qb::server {

// Resolves preset, file text, overrides, device and threads of `spec` for its target. Returns
// Job.resolved_config_json. Appends every problem, CONFIG_ERROR or TARGET_ERROR, with the setting's
// path or the request's field; the result is "" then.
std::string ResolveConfigJson(const qbc::v1::JobSpec& spec, std::vector<Violation>& violations);

}  // namespace qb::server

// The settings of a job, resolved where it is submitted: a mistake shows at once, not after a wait.
#pragma once

#include <string>
#include <vector>

#include "proto/qbc/v1/job.pb.h"
#include "server/service/violations.h"

namespace qb::server {

struct ResolvedConfig {
  std::string json;  // Job.resolved_config_json
  // Only what the compiled model depends on: equal for equal work, wherever the values came from.
  std::string identity_json;
  bool prefers_gpu = false;  // the device is "gpu", which is the default
};

// Resolves preset, file text, overrides, device and threads of `spec` for its target. Appends every
// problem, CONFIG_ERROR or TARGET_ERROR, with the setting's path or the request's field; the result
// is empty then.
ResolvedConfig ResolveConfig(const qbc::v1::JobSpec& spec, std::vector<Violation>& violations);

}  // namespace qb::server

// Checks of what a client asks for, before anything is stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/qbc/v1/job.pb.h"
#include "server/service/manifest_check.h"
#include "server/service/violations.h"

namespace qb::server {

struct JobLimits {
  ManifestLimits manifest;
  int64_t max_job_input_bytes = int64_t{64} << 30;  // all files of a job
  int max_calibration_sets = 64;
  int max_threads = 256;
  int max_labels = 32;
  int64_t max_config_bytes = int64_t{1} << 20;
  int64_t max_overrides_bytes = int64_t{64} << 10;
  int64_t default_run_timeout_s = int64_t{2} * 3600;
  int64_t max_run_timeout_s = int64_t{24} * 3600;
  int64_t default_queue_ttl_s = int64_t{24} * 3600;
  int64_t max_queue_ttl_s = int64_t{30} * 24 * 3600;
};

// The devices that the product knows; --targets replaces them.
std::vector<std::string> BuiltInTargets();

enum class SpecForm {
  kComplete,
  kPartial,  // a model or a target_device that is left out is not looked at
};

// Checks `spec` without its compile settings (config_resolution.h) and fills in its defaults (kind,
// run_timeout, queue_ttl). A value over its limit is refused, never cut. Appends what is wrong:
// TARGET_ERROR or ARGUMENT_ERROR, the field, what was found and what is accepted.
void CheckJobSpec(const JobLimits& limits, const std::vector<std::string>& targets, SpecForm form,
                  qbc::v1::JobSpec& spec, std::vector<Violation>& violations);

}  // namespace qb::server

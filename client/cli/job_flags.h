// The flags that describe a job, for `compile` and `submit`: files and settings become a JobSpec.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "client/cli/session.h"
#include "client/cpp/manifest.h"
#include "core/base/flags.h"
#include "proto/qbc/v1/job.pb.h"

namespace qb::client {

absl::Span<const FlagDef> JobFlags();

// What is to be submitted, and the bytes that it names.
struct JobPlan {
  qbc::v1::JobSpec spec;
  std::vector<LocalBlob> blobs;
  std::string model;             // as the user named it
  std::string config_save_path;  // "": the settings are not written
};

// Reads and hashes the files. Errors: usage for flags, kExitInvalidInput for files.
absl::StatusOr<JobPlan> PlanJob(const ParsedFlags& flags, Session& session);

// The same for `qbc validate`: model, target and samples may be left out, nothing is to be
// uploaded.
absl::StatusOr<qbc::v1::JobSpec> PlanValidation(const ParsedFlags& flags, Session& session);

// Writes what --config-save-path asks for: the settings of `resolved` (Job.resolved_config_json) to
// `path`, their origins beside it. Nothing when `path` is empty.
absl::Status SaveSettings(const std::string& resolved, const std::string& path);

// Asks whether the server accepts the settings, uploads what it misses and submits the job. Returns
// the job as the server accepted it.
absl::StatusOr<qbc::v1::Job> UploadAndSubmit(const JobPlan& plan, Session& session);

}  // namespace qb::client

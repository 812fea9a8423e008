#include "server/service/job_spec_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "server/dispatch/compiler_flags.h"

namespace qb::server {
namespace {

namespace pb = ::qbc::v1;

absl::Status Bad(absl::string_view text) { return Failure(FailureCode::kArgumentError, text); }

absl::Status CheckKind(pb::JobSpec& spec) {
  if (spec.kind() == pb::JOB_KIND_UNSPECIFIED) {
    spec.set_kind(pb::JOB_KIND_COMPILE);
  }
  return spec.kind() == pb::JOB_KIND_COMPILE
             ? absl::OkStatus()
             : Bad(absl::StrCat("spec.kind: ", static_cast<int>(spec.kind()),
                                ": only COMPILE is accepted"));
}

absl::Status CheckTarget(const std::vector<std::string>& targets, const std::string& target) {
  if (std::find(targets.begin(), targets.end(), target) != targets.end()) {
    return absl::OkStatus();
  }
  return Failure(FailureCode::kTargetError,
                 absl::StrCat("spec.target_device: '", target, "' is not known; known are ",
                              absl::StrJoin(targets, ", ")));
}

absl::Status CheckInputs(const JobLimits& limits, const pb::JobSpec& spec) {
  if (spec.model().entries().empty()) {
    return Bad("spec.model: expected at least one file");
  }
  if (spec.calibration_size() > limits.max_calibration_sets) {
    return Bad(absl::StrCat("spec.calibration: ", spec.calibration_size(), " sets, at most ",
                            limits.max_calibration_sets));
  }
  std::vector<std::pair<std::string, const pb::Manifest*>> manifests = {
      {"spec.model", &spec.model()}, {"spec.evaluation", &spec.evaluation()}};
  for (int i = 0; i < spec.calibration_size(); ++i) {
    manifests.emplace_back(absl::StrCat("spec.calibration[", i, "]"), &spec.calibration(i));
  }
  int64_t room_bytes = limits.max_job_input_bytes;
  for (const auto& [field, manifest] : manifests) {
    if (absl::Status status = CheckManifest(field, *manifest, limits.manifest); !status.ok()) {
      return WithFailureCode(std::move(status), FailureCode::kArgumentError);
    }
    for (const pb::ManifestEntry& entry : manifest->entries()) {
      if (entry.size_bytes() > room_bytes) {
        return Bad(absl::StrCat(field, ": the job's files have more than ",
                                limits.max_job_input_bytes, " bytes"));
      }
      room_bytes -= entry.size_bytes();
    }
  }
  if (!spec.evaluation_labels().empty() &&
      std::none_of(spec.evaluation().entries().begin(), spec.evaluation().entries().end(),
                   [&](const auto& entry) { return entry.path() == spec.evaluation_labels(); })) {
    return Bad("spec.evaluation_labels: spec.evaluation has no entry with this path");
  }
  return absl::OkStatus();
}

absl::Status CheckScalars(const JobLimits& limits, const pb::JobSpec& spec) {
  if (!spec.device().empty() && spec.device() != "gpu" && spec.device() != "cpu") {
    return Bad(absl::StrCat("spec.device: '", spec.device(), "': expected gpu, cpu or nothing"));
  }
  if (spec.threads() < 0 || spec.threads() > limits.max_threads) {
    return Bad(
        absl::StrCat("spec.threads: ", spec.threads(), ": expected 0 to ", limits.max_threads));
  }
  if (spec.priority() < -100 || spec.priority() > 100) {
    return Bad(absl::StrCat("spec.priority: ", spec.priority(), ": expected -100 to 100"));
  }
  if (spec.labels_size() > limits.max_labels) {
    return Bad(absl::StrCat("spec.labels: ", spec.labels_size(), ", at most ", limits.max_labels));
  }
  for (const auto& [key, value] : spec.labels()) {
    if (key.empty() || key.size() > 63 || value.size() > 256) {
      return Bad(absl::StrCat("spec.labels: '", key.substr(0, 63),
                              "': expected a key of 1 to 63 and a value of up to 256 bytes"));
    }
  }
  if (static_cast<int64_t>(spec.config().file_text().size()) > limits.max_config_bytes) {
    return Bad(
        absl::StrCat("spec.config.file_text: more than ", limits.max_config_bytes, " bytes"));
  }
  if (static_cast<int64_t>(spec.config().overrides_json().size()) > limits.max_overrides_bytes) {
    return Bad(absl::StrCat("spec.config.overrides_json: more than ", limits.max_overrides_bytes,
                            " bytes"));
  }
  return absl::OkStatus();
}

absl::Status CheckDuration(absl::string_view field, const google::protobuf::Duration& duration,
                           int64_t max_s) {
  const bool positive = duration.seconds() > 0 || (duration.seconds() == 0 && duration.nanos() > 0);
  const bool in_range =
      duration.seconds() < max_s || (duration.seconds() == max_s && duration.nanos() == 0);
  if (!positive || !in_range || duration.nanos() < 0 || duration.nanos() > 999'999'999) {
    return Bad(absl::StrCat(field, ": expected more than 0 and at most ", max_s, " s"));
  }
  return absl::OkStatus();
}

absl::Status CheckTimes(const JobLimits& limits, pb::JobSpec& spec) {
  if (!spec.has_run_timeout()) {
    spec.mutable_run_timeout()->set_seconds(limits.default_run_timeout_s);
  }
  if (!spec.has_queue_ttl()) {
    spec.mutable_queue_ttl()->set_seconds(limits.default_queue_ttl_s);
  }
  QB_RETURN_IF_ERROR(
      CheckDuration("spec.run_timeout", spec.run_timeout(), limits.max_run_timeout_s));
  return CheckDuration("spec.queue_ttl", spec.queue_ttl(), limits.max_queue_ttl_s);
}

}  // namespace

std::vector<std::string> BuiltInTargets() {
  return {"aries-rb", "regulus-ra", "regulus-rb", "regulus-rb-usb"};
}

absl::Status CheckJobSpec(const JobLimits& limits, const std::vector<std::string>& targets,
                          pb::JobSpec& spec) {
  QB_RETURN_IF_ERROR(CheckKind(spec));
  QB_RETURN_IF_ERROR(CheckTarget(targets, spec.target_device()));
  QB_RETURN_IF_ERROR(CheckInputs(limits, spec));
  QB_RETURN_IF_ERROR(CheckScalars(limits, spec));
  QB_RETURN_IF_ERROR(CheckTimes(limits, spec));
  return ResolveCompilerFlags(spec).status();
}

}  // namespace qb::server

#include "server/service/job_spec_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/target/target_spec.h"

namespace qb::server {
namespace {

namespace pb = ::qbc::v1;

constexpr size_t kShownBytes = 100;

// What of a text that a client sent goes into an error.
std::string Shown(absl::string_view text) { return absl::CHexEscape(text.substr(0, kShownBytes)); }

class SpecCheck {
 public:
  SpecCheck(const JobLimits& limits, SpecForm form, pb::JobSpec& spec,
            std::vector<Violation>& violations)
      : limits_(limits), form_(form), spec_(spec), violations_(violations) {}

  void Run(const std::vector<std::string>& targets) {
    CheckKind();
    CheckTarget(targets);
    CheckInputs();
    CheckScalars();
    CheckLabels();
    CheckCachePolicy();
    CheckResources();
    CheckConfigSizes();
    CheckTimes();
  }

 private:
  template <typename... Parts>
  void Add(absl::string_view field, const Parts&... parts) {
    violations_.push_back(
        {FailureCode::kArgumentError, std::string(field), absl::StrCat(parts...)});
  }

  void CheckKind() {
    if (spec_.kind() == pb::JOB_KIND_UNSPECIFIED) {
      spec_.set_kind(pb::JOB_KIND_COMPILE);
    }
    if (spec_.kind() != pb::JOB_KIND_COMPILE) {
      Add("spec.kind", static_cast<int>(spec_.kind()), ": only COMPILE is accepted");
    }
  }

  void CheckTarget(const std::vector<std::string>& targets) {
    const std::string& target = spec_.target_device();
    const bool left_out = target.empty() && form_ == SpecForm::kPartial;
    if (!left_out && std::find(targets.begin(), targets.end(), target) == targets.end()) {
      violations_.push_back({FailureCode::kTargetError, "spec.target_device",
                             absl::StrCat("'", Shown(target), "' is not known; known are ",
                                          absl::StrJoin(targets, ", "))});
    }
  }

  void CheckInputs() {
    if (spec_.model().entries().empty() && form_ == SpecForm::kComplete) {
      Add("spec.model", "expected at least one file");
    }
    if (spec_.calibration_size() > limits_.max_calibration_sets) {
      Add("spec.calibration", spec_.calibration_size(), " sets, at most ",
          limits_.max_calibration_sets);
      return;
    }
    int64_t room_bytes = limits_.max_job_input_bytes;
    CheckFiles("spec.model", spec_.model(), room_bytes);
    CheckFiles("spec.evaluation", spec_.evaluation(), room_bytes);
    for (int i = 0; i < spec_.calibration_size(); ++i) {
      CheckFiles(absl::StrCat("spec.calibration[", i, "]"), spec_.calibration(i), room_bytes);
    }
    const auto& samples = spec_.evaluation().entries();
    if (!spec_.evaluation_labels().empty() &&
        std::none_of(samples.begin(), samples.end(), [&](const pb::ManifestEntry& entry) {
          return entry.path() == spec_.evaluation_labels();
        })) {
      Add("spec.evaluation_labels", "spec.evaluation has no entry with this path");
    }
  }

  // Takes the sizes out of `room_bytes`.
  void CheckFiles(const std::string& field, const pb::Manifest& manifest, int64_t& room_bytes) {
    if (const absl::Status status = CheckManifest(field, manifest, limits_.manifest);
        !status.ok()) {
      AppendViolations(WithFailureCode(status, FailureCode::kArgumentError), field, violations_);
      return;
    }
    for (const pb::ManifestEntry& entry : manifest.entries()) {
      if (entry.size_bytes() > room_bytes) {
        Add(field, "the job's files have more than ", limits_.max_job_input_bytes, " bytes");
        return;
      }
      room_bytes -= entry.size_bytes();
    }
  }

  void CheckScalars() {
    if (!spec_.device().empty() && spec_.device() != "gpu" && spec_.device() != "cpu") {
      Add("spec.device", "'", Shown(spec_.device()), "': expected gpu, cpu or nothing");
    }
    if (spec_.threads() < 0 || spec_.threads() > limits_.max_threads) {
      Add("spec.threads", spec_.threads(), ": expected 0 to ", limits_.max_threads);
    }
    if (spec_.priority() < -100 || spec_.priority() > 100) {
      Add("spec.priority", spec_.priority(), ": expected -100 to 100");
    }
  }

  void CheckCachePolicy() {
    if (!pb::CachePolicy_IsValid(spec_.cache_policy())) {
      Add("spec.cache_policy", static_cast<int>(spec_.cache_policy()),
          ": expected USE, REFRESH or BYPASS");
    }
  }

  void CheckResources() {
    const pb::Resources& resources = spec_.resources();
    constexpr int64_t kMaxBytes = int64_t{1} << 50;
    const auto check = [&](absl::string_view field, int64_t value, int64_t most) {
      if (value < 0 || value > most) {
        Add(absl::StrCat("spec.resources.", field), value, ": expected 0 to ", most);
      }
    };
    check("cpus", resources.cpus(), 4096);
    check("memory_bytes", resources.memory_bytes(), kMaxBytes);
    check("gpus", resources.gpus(), 64);
    check("scratch_bytes", resources.scratch_bytes(), kMaxBytes);
  }

  void CheckLabels() {
    if (spec_.labels_size() > limits_.max_labels) {
      Add("spec.labels", spec_.labels_size(), ", at most ", limits_.max_labels);
      return;
    }
    for (const auto& [key, value] : spec_.labels()) {
      if (key.empty() || key.size() > 63 || value.size() > 256) {
        Add("spec.labels", "'", Shown(key),
            "': expected a key of 1 to 63 and a value of up to 256 bytes");
      }
    }
  }

  void CheckConfigSizes() {
    const auto check = [&](absl::string_view field, const std::string& text, int64_t most) {
      if (static_cast<int64_t>(text.size()) > most) {
        Add(field, "more than ", most, " bytes");
      }
    };
    check("spec.config.file_text", spec_.config().file_text(), limits_.max_config_bytes);
    check("spec.config.overrides_json", spec_.config().overrides_json(),
          limits_.max_overrides_bytes);
  }

  void CheckTimes() {
    if (!spec_.has_run_timeout()) {
      spec_.mutable_run_timeout()->set_seconds(limits_.default_run_timeout_s);
    }
    if (!spec_.has_queue_ttl()) {
      spec_.mutable_queue_ttl()->set_seconds(limits_.default_queue_ttl_s);
    }
    CheckDuration("spec.run_timeout", spec_.run_timeout(), limits_.max_run_timeout_s);
    CheckDuration("spec.queue_ttl", spec_.queue_ttl(), limits_.max_queue_ttl_s);
  }

  void CheckDuration(absl::string_view field, const google::protobuf::Duration& duration,
                     int64_t max_s) {
    const bool positive =
        duration.seconds() > 0 || (duration.seconds() == 0 && duration.nanos() > 0);
    const bool in_range =
        duration.seconds() < max_s || (duration.seconds() == max_s && duration.nanos() == 0);
    if (!positive || !in_range || duration.nanos() < 0 || duration.nanos() > 999'999'999) {
      Add(field, "expected more than 0 and at most ", max_s, " s");
    }
  }

  const JobLimits& limits_;
  const SpecForm form_;
  pb::JobSpec& spec_;
  std::vector<Violation>& violations_;
};

}  // namespace

std::vector<std::string> BuiltInTargets() {
  std::vector<std::string> names;
  for (const TargetSpec& target : AllTargets()) {
    names.push_back(target.name);
  }
  return names;
}

void CheckJobSpec(const JobLimits& limits, const std::vector<std::string>& targets, SpecForm form,
                  pb::JobSpec& spec, std::vector<Violation>& violations) {
  SpecCheck(limits, form, spec, violations).Run(targets);
}

}  // namespace qb::server

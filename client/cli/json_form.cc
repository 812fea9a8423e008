#include "client/cli/json_form.h"

#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace qb::client {
namespace {

// `text` as JSON when it is some, else as a string.
Json Embedded(const std::string& text) {
  absl::StatusOr<Json> parsed = Json::Parse(text);
  return parsed.ok() ? *std::move(parsed) : Json(text);
}

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9;
}

Json FailureToJson(const qbc::v1::JobFailure& failure) {
  Json details = Json::Object();
  std::map<std::string, std::string> ordered(failure.details().begin(), failure.details().end());
  for (const auto& [key, value] : ordered) {
    details.Set(key, value);
  }
  return Json::Object()
      .Set("code", failure.reason_name())
      .Set("message", failure.message())
      .Set("details", std::move(details))
      .Set("hint", failure.hint())
      .Set("retryable", failure.retryable());
}

Json ProgressToJson(const qbc::v1::JobProgress& progress) {
  return Json::Object()
      .Set("phase", progress.phase())
      .Set("fraction", progress.fraction())
      .Set("done", progress.done())
      .Set("total", progress.total())
      .Set("unit", progress.unit());
}

template <typename Artifacts>
Json ArtifactsToJson(const Artifacts& artifacts) {
  Json list = Json::Array();
  for (const qbc::v1::Artifact& artifact : artifacts) {
    list.Append(Json::Object()
                    .Set("name", artifact.name())
                    .Set("sha256", artifact.sha256())
                    .Set("bytes", artifact.size_bytes()));
  }
  return list;
}

Json UsageToJson(const qbc::v1::ResourceUsage& usage) {
  return Json::Object()
      .Set("wall_s", Seconds(usage.wall_time()))
      .Set("cpu_s", Seconds(usage.cpu_time()))
      .Set("peak_rss_bytes", usage.peak_rss_bytes())
      .Set("exit_code", usage.exit_code())
      .Set("signal", usage.signal());
}

void SetText(Json& json, absl::string_view key, const std::string& value) {
  if (!value.empty()) {
    json.Set(key, value);
  }
}

std::string PolicyName(qbc::v1::CachePolicy policy) {
  absl::string_view name = qbc::v1::CachePolicy_Name(policy);
  absl::ConsumePrefix(&name, "CACHE_POLICY_");
  return absl::AsciiStrToLower(name);
}

Json SpecToJson(const qbc::v1::JobSpec& spec) {
  Json json = Json::Object();
  SetText(json, "target_device", spec.target_device());
  SetText(json, "device", spec.device());
  SetText(json, "model", spec.model().main());
  SetText(json, "preset", spec.config().preset());
  if (!spec.config().overrides_json().empty()) {
    json.Set("overrides", Embedded(spec.config().overrides_json()));
  }
  json.Set("threads", spec.threads()).Set("priority", spec.priority());
  if (spec.cache_policy() != qbc::v1::CACHE_POLICY_UNSPECIFIED) {
    json.Set("cache", PolicyName(spec.cache_policy()));
  }
  if (spec.has_resources()) {
    json.Set("resources", Json::Object()
                              .Set("cpus", spec.resources().cpus())
                              .Set("memory_bytes", spec.resources().memory_bytes())
                              .Set("gpus", spec.resources().gpus())
                              .Set("scratch_bytes", spec.resources().scratch_bytes()));
  }
  if (!spec.labels().empty()) {
    Json labels = Json::Object();
    std::map<std::string, std::string> ordered(spec.labels().begin(), spec.labels().end());
    for (const auto& [key, value] : ordered) {
      labels.Set(key, value);
    }
    json.Set("labels", std::move(labels));
  }
  return json;
}

constexpr const char* kSeverities[] = {"", "debug", "info", "warning", "error"};

}  // namespace

std::string StateName(qbc::v1::JobState state) {
  absl::string_view name = qbc::v1::JobState_Name(state);
  absl::ConsumePrefix(&name, "JOB_STATE_");
  return name.empty() ? absl::StrCat("state ", static_cast<int>(state))
                      : absl::AsciiStrToLower(name);
}

qbc::v1::JobState StateFromName(absl::string_view name) {
  qbc::v1::JobState state = qbc::v1::JOB_STATE_UNSPECIFIED;
  qbc::v1::JobState_Parse(absl::StrCat("JOB_STATE_", absl::AsciiStrToUpper(name)), &state);
  return state;
}

std::string FormatTime(const google::protobuf::Timestamp& time) {
  const absl::Time instant =
      absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", instant, absl::UTCTimeZone());
}

Json JobToJson(const qbc::v1::Job& job) {
  Json json = Json::Object();
  json.Set("id", job.id()).Set("state", StateName(job.state()));
  json.Set("spec", SpecToJson(job.spec()));
  if (job.has_create_time()) {
    json.Set("create_time", FormatTime(job.create_time()));
  }
  if (job.has_start_time()) {
    json.Set("start_time", FormatTime(job.start_time()));
  }
  if (job.has_finish_time()) {
    json.Set("finish_time", FormatTime(job.finish_time()));
  }
  if (job.has_expire_time()) {
    json.Set("expire_time", FormatTime(job.expire_time()));
  }
  json.Set("cache_hit", job.cache_hit()).Set("joined", job.joined()).Set("pinned", job.pinned());
  SetText(json, "traceparent", job.traceparent());
  json.Set("attempts", job.attempt_count()).Set("last_event_seq", job.last_event_seq());
  if (job.has_progress()) {
    json.Set("progress", ProgressToJson(job.progress()));
  }
  if (job.has_failure()) {
    json.Set("failure", FailureToJson(job.failure()));
  }
  json.Set("artifacts", ArtifactsToJson(job.artifacts()));
  if (job.has_usage()) {
    json.Set("usage", UsageToJson(job.usage()));
  }
  SetText(json, "worker_id", job.worker_id());
  SetText(json, "compiler_build", job.compiler_build());
  SetText(json, "wait_reason", job.wait_reason());
  if (!job.resolved_config_json().empty()) {
    json.Set("config", Embedded(job.resolved_config_json()));
  }
  if (!job.result_json().empty()) {
    json.Set("result", Embedded(job.result_json()));
  }
  return json;
}

Json EventToJson(const qbc::v1::JobEvent& event, absl::string_view job_id) {
  Json json = Json::Object();
  json.Set("type", "event").Set("job_id", job_id).Set("seq", event.seq());
  if (event.has_time()) {
    json.Set("time", FormatTime(event.time()));
  }
  json.Set("attempt", event.attempt());
  switch (event.kind_case()) {
    case qbc::v1::JobEvent::kState:
      json.Set("kind", "state").Set("state", StateName(event.state().state()));
      SetText(json, "reason", event.state().reason());
      break;
    case qbc::v1::JobEvent::kPhase:
      json.Set("kind", "phase").Set("phase", event.phase().phase());
      break;
    case qbc::v1::JobEvent::kProgress:
      json.Set("kind", "progress").Set("progress", ProgressToJson(event.progress()));
      break;
    case qbc::v1::JobEvent::kLog: {
      const auto severity = static_cast<size_t>(event.log().severity());
      json.Set("kind", "log")
          .Set("severity", severity < std::size(kSeverities) ? kSeverities[severity] : "")
          .Set("logger", event.log().logger())
          .Set("message", event.log().message());
      break;
    }
    case qbc::v1::JobEvent::kResult:
      json.Set("kind", "result").Set("artifacts", ArtifactsToJson(event.result().artifacts()));
      break;
    case qbc::v1::JobEvent::kError:
      json.Set("kind", "error")
          .Set("state", StateName(event.error().state()))
          .Set("failure", FailureToJson(event.error().failure()));
      break;
    case qbc::v1::JobEvent::KIND_NOT_SET:
      json.Set("kind", "unknown");  // of a newer server
      break;
  }
  return json;
}

Json ViolationToJson(const qbc::v1::FieldViolation& violation) {
  return Json::Object()
      .Set("field", violation.field())
      .Set("description", violation.description())
      .Set("code", violation.reason());
}

}  // namespace qb::client

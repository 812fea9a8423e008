#include "client/cli/job_flags.h"

#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "client/cli/exit_code.h"
#include "client/cli/printable.h"
#include "client/cli/work_flags.h"
#include "client/cpp/job_files.h"
#include "client/cpp/random_id.h"
#include "client/cpp/upload.h"
#include "client/cpp/violations.h"
#include "core/base/atomic_file.h"
#include "core/base/json.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {
namespace {

constexpr int64_t kMaxConfigBytes = 1 << 20;

constexpr auto kJobFlags = std::to_array<FlagDef>({
    {"model", 'm', FlagKind::kValue, "MODEL",
     "The model, when it is not given as the first argument: an .onnx file (its external data goes "
     "along) or a folder, of which every file goes along."},
    {"target-device", 't', FlagKind::kValue, "NAME",
     "The NPU to compile for, e.g. aries-rb. Required."},
    {"calib-data-path", 0, FlagKind::kRepeated, "PATH",
     "Calibration samples: a folder, a .txt or .json listing, or one file. May be repeated."},
    {"use-random-calib", 0, FlagKind::kNegatable, "",
     "Calibrate with random data: only to see whether a model compiles."},
    {"config-preset", 'p', FlagKind::kValue, "NAME", "A built-in set of compile settings."},
    {"compile-config", 'c', FlagKind::kValue, "FILE",
     "Compile settings, YAML or JSON; the server resolves them. A preset that is given too wins "
     "over them."},
    {"config-save-path", 0, FlagKind::kValue, "FILE",
     "Write the settings that the server resolved, before anything is uploaded, as JSON (which is "
     "YAML too); where each value came from goes to FILE.origins.json."},
    {"inference-scheme", 0, FlagKind::kValue, "NAME",
     "How the cores share the work: single, multi, global4, global8 or all."},
    {"cpu-offload", 0, FlagKind::kNegatable, "",
     "Leave layers that the NPU cannot run to the CPU."},
    {"backend", 0, FlagKind::kValue, "NAME", "The model's format. Default: onnx."},
    {"input-shape", 0, FlagKind::kRepeated, "NAME:SHAPE",
     "Fixes an input's dynamic shape, e.g. x:1x3x224x224. May be repeated."},
    {"eval-data", 0, FlagKind::kValue, "PATH",
     "Samples with which the result is measured against the float model."},
    {"eval-labels", 0, FlagKind::kValue, "FILE",
     "A CSV with the columns sample,label for --eval-data."},
    {"device", 0, FlagKind::kValue, "NAME", "Compile on gpu or cpu. Default: the compiler's."},
    {"require-device", 0, FlagKind::kSwitch, "", "Fail when no worker has the device."},
    {"threads", 0, FlagKind::kValue, "N", "Threads of the compiler. Default: the worker decides."},
    {"priority", 0, FlagKind::kValue, "N", "-100 (late) to 100 (early). Default: 0."},
    {"label", 0, FlagKind::kRepeated, "KEY=VALUE", "A label of the job. May be repeated."},
    {"run-timeout", 0, FlagKind::kValue, "TIME",
     "Longest time of the compile itself, without the queue. Default: the server's."},
    {"queue-timeout", 0, FlagKind::kValue, "TIME",
     "Longest wait in the queue. Default: the server's."},
});

absl::StatusOr<std::string> ModelPath(const ParsedFlags& flags) {
  const std::vector<std::string>& positionals = flags.positionals();
  if (positionals.size() > 1) {
    return UsageError(absl::StrCat("one model at a time: '", positionals[1], "' is one too many"));
  }
  if (flags.Has("model") == !positionals.empty()) {
    return UsageError(flags.Has("model") ? "the model is given twice, as an argument and as --model"
                                         : "no model is given");
  }
  return flags.Has("model") ? flags.Get("model") : positionals.front();
}

// The flags that the server hands to the compiler, as CompileConfigSource.overrides_json.
std::string Overrides(const ParsedFlags& flags) {
  Json json = Json::Object();
  for (const char* name : {"backend", "inference-scheme"}) {
    if (flags.Has(name)) {
      json.Set(name, flags.Get(name));
    }
  }
  for (const char* name : {"cpu-offload", "use-random-calib", "require-device"}) {
    if (const std::optional<bool> value = flags.GetSwitch(name); value.has_value()) {
      json.Set(name, *value);
    }
  }
  if (flags.Has("input-shape")) {
    Json shapes = Json::Array();
    for (const std::string& shape : flags.GetAll("input-shape")) {
      shapes.Append(shape);
    }
    json.Set("input-shape", std::move(shapes));
  }
  return json.members().empty() ? "" : json.Dump();
}

absl::Status AddLabels(const ParsedFlags& flags, qbc::v1::JobSpec& spec) {
  for (const std::string& label : flags.GetAll("label")) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(label, absl::MaxSplits('=', 1));
    if (parts.first.empty() || !absl::StrContains(label, '=')) {
      return UsageError(absl::StrCat("--label: '", label, "' is not KEY=VALUE"));
    }
    (*spec.mutable_labels())[parts.first] = parts.second;
  }
  return absl::OkStatus();
}

absl::Status AddSettings(const ParsedFlags& flags, qbc::v1::JobSpec& spec) {
  spec.set_kind(qbc::v1::JOB_KIND_COMPILE);
  spec.set_target_device(flags.Get("target-device"));
  spec.set_device(flags.Get("device"));
  QB_ASSIGN_OR_RETURN(const int threads, flags.GetInt("threads", 0, 1, 256));
  spec.set_threads(threads);
  QB_ASSIGN_OR_RETURN(const int priority, flags.GetInt("priority", 0, -100, 100));
  spec.set_priority(priority);
  for (const auto& [name, field] : {std::pair("run-timeout", spec.mutable_run_timeout()),
                                    std::pair("queue-timeout", spec.mutable_queue_ttl())}) {
    QB_ASSIGN_OR_RETURN(const absl::Duration limit, flags.GetDuration(name, absl::ZeroDuration()));
    field->set_seconds(absl::ToInt64Seconds(absl::Ceil(limit, absl::Seconds(1))));
  }
  if (!flags.Has("run-timeout")) {
    spec.clear_run_timeout();
  }
  if (!flags.Has("queue-timeout")) {
    spec.clear_queue_ttl();
  }
  spec.mutable_config()->set_preset(flags.Get("config-preset"));
  spec.mutable_config()->set_overrides_json(Overrides(flags));
  QB_RETURN_IF_ERROR(ApplyWorkFlags(flags, spec));
  return AddLabels(flags, spec);
}

void Take(LocalManifest collected, qbc::v1::Manifest& manifest, JobPlan& plan) {
  manifest = std::move(collected.manifest);
  for (LocalBlob& blob : collected.blobs) {
    plan.blobs.push_back(std::move(blob));
  }
}

absl::Status AddModel(Session& session, JobPlan& plan) {
  std::vector<std::string> warnings;
  QB_ASSIGN_OR_RETURN(LocalManifest model, CollectModel(plan.model, &warnings));
  for (const std::string& warning : warnings) {
    session.view().Warn(PrintableLine(warning));
  }
  Take(std::move(model), *plan.spec.mutable_model(), plan);
  return absl::OkStatus();
}

// A plan without a model gets none.
absl::Status AddFiles(const ParsedFlags& flags, Session& session, JobPlan& plan) {
  if (!plan.model.empty()) {
    QB_RETURN_IF_ERROR(AddModel(session, plan));
  }
  std::string labels_path;
  for (const std::string& path : flags.GetAll("calib-data-path")) {
    QB_ASSIGN_OR_RETURN(LocalManifest set, CollectDataset(path, "", &labels_path));
    Take(std::move(set), *plan.spec.add_calibration(), plan);
  }
  if (flags.Has("eval-data")) {
    QB_ASSIGN_OR_RETURN(LocalManifest set, CollectDataset(flags.Get("eval-data"),
                                                          flags.Get("eval-labels"), &labels_path));
    Take(std::move(set), *plan.spec.mutable_evaluation(), plan);
    plan.spec.set_evaluation_labels(labels_path);
  }
  if (flags.Has("compile-config")) {
    QB_ASSIGN_OR_RETURN(*plan.spec.mutable_config()->mutable_file_text(),
                        ReadFile(flags.Get("compile-config"), kMaxConfigBytes));
  }
  return absl::OkStatus();
}

// Before gigabytes travel: is there anything wrong that the server can see already?
absl::Status CheckOnServer(const JobPlan& plan, Connection& connection) {
  qbc::v1::ValidateJobRequest request;
  *request.mutable_spec() = plan.spec;
  const absl::StatusOr<qbc::v1::ValidateJobResponse> response = connection.ValidateJob(request);
  if (response.status().code() == absl::StatusCode::kUnimplemented &&
      plan.config_save_path.empty()) {
    return absl::OkStatus();  // an older server: SubmitJob will tell
  }
  QB_RETURN_IF_ERROR(response.status());
  const auto& found = response->violations();
  return found.empty() ? SaveSettings(response->resolved_config_json(), plan.config_save_path)
                       : ViolationsError({found.begin(), found.end()});
}

absl::Status Upload(const JobPlan& plan, Connection& connection, Session& session) {
  std::vector<const LocalBlob*> blobs;
  for (const LocalBlob& blob : plan.blobs) {
    blobs.push_back(&blob);
  }
  return UploadMissing(connection, blobs, session.upload_listener());
}

}  // namespace

absl::Span<const FlagDef> JobFlags() {
  static const std::vector<FlagDef> flags = [] {
    std::vector<FlagDef> all(kJobFlags.begin(), kJobFlags.end());
    all.insert(all.end(), WorkFlags().begin(), WorkFlags().end());
    return all;
  }();
  return flags;
}

absl::Status SaveSettings(const std::string& resolved, const std::string& path) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  QB_ASSIGN_OR_RETURN(const Json json, Json::Parse(resolved));
  Json origins = Json::Object();
  for (const auto& [field, setting] : json["settings"].members()) {
    origins.SetNew(field, setting["origin"]);
  }
  absl::Status status = WriteFileAtomically(path, json["config"].Dump(2) + "\n");
  if (status.ok()) {
    status = WriteFileAtomically(absl::StrCat(path, ".origins.json"), origins.Dump(2) + "\n");
  }
  return WithExitCode(std::move(status), kExitInvalidInput);
}

absl::StatusOr<JobPlan> PlanJob(const ParsedFlags& flags, Session& session) {
  JobPlan plan;
  QB_ASSIGN_OR_RETURN(plan.model, ModelPath(flags));
  if (!flags.Has("target-device")) {
    return UsageError("--target-device is missing; `qbc status` lists the targets");
  }
  if (flags.Has("eval-labels") && !flags.Has("eval-data")) {
    return UsageError("--eval-labels needs --eval-data");
  }
  // A config file may ask for random data too: then the compiler judges.
  if (!flags.Has("calib-data-path") && !flags.Has("compile-config") &&
      !flags.GetSwitch("use-random-calib").value_or(false)) {
    return UsageError(
        "No calibration dataset is provided: name one with --calib-data-path, or try "
        "--use-random-calib");
  }
  QB_RETURN_IF_ERROR(AddSettings(flags, plan.spec));
  plan.config_save_path = flags.Get("config-save-path");
  if (absl::Status status = AddFiles(flags, session, plan); !status.ok()) {
    return WithExitCode(std::move(status), kExitInvalidInput);
  }
  int64_t bytes = 0;
  for (const LocalBlob& blob : plan.blobs) {
    bytes += blob.size_bytes;
  }
  session.view().Say(
      absl::StrCat(PrintableLine(plan.model), " and its samples: ", plan.blobs.size(),
                   plan.blobs.size() == 1 ? " file, " : " files, ", FormatBytes(bytes)));
  return plan;
}

absl::StatusOr<qbc::v1::JobSpec> PlanValidation(const ParsedFlags& flags, Session& session) {
  JobPlan plan;
  if (flags.Has("model") || !flags.positionals().empty()) {
    QB_ASSIGN_OR_RETURN(plan.model, ModelPath(flags));
  }
  QB_RETURN_IF_ERROR(AddSettings(flags, plan.spec));
  if (absl::Status status = AddFiles(flags, session, plan); !status.ok()) {
    return WithExitCode(std::move(status), kExitInvalidInput);
  }
  return plan.spec;
}

absl::StatusOr<qbc::v1::Job> UploadAndSubmit(const JobPlan& plan, Session& session) {
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  QB_RETURN_IF_ERROR(CheckOnServer(plan, *connection));
  QB_RETURN_IF_ERROR(Upload(plan, *connection, session));
  qbc::v1::SubmitJobRequest request;
  request.set_request_id(RandomUuid());
  *request.mutable_spec() = plan.spec;
  absl::StatusOr<qbc::v1::SubmitJobResponse> response = connection->SubmitJob(request);
  if (response.status().code() == absl::StatusCode::kFailedPrecondition) {
    // Something that was there a moment ago has been cleared away: the request_id is still free.
    QB_RETURN_IF_ERROR(Upload(plan, *connection, session));
    response = connection->SubmitJob(request);
  }
  QB_RETURN_IF_ERROR(response.status());
  return std::move(*response->mutable_job());
}

}  // namespace qb::client

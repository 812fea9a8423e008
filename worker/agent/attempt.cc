#include "worker/agent/attempt.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "core/base/atomic_file.h"
#include "core/base/json.h"
#include "core/base/status_macros.h"
#include "worker/agent/backoff.h"
#include "worker/agent/blob_transfer.h"
#include "worker/agent/compiler_command.h"
#include "worker/agent/reporter.h"
#include "worker/agent/stray_processes.h"
#include "worker/agent/transcript.h"

namespace qb::worker {
namespace {

constexpr size_t kMaxArtifacts = 16;
constexpr int kMaxReuploads = 3;

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

void SetSeconds(double seconds, google::protobuf::Duration* duration) {
  const int64_t nanos = static_cast<int64_t>(std::llround(std::max(seconds, 0.0) * 1e9));
  duration->set_seconds(nanos / 1'000'000'000);
  duration->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
}

// "model.mxq" of "out/model.mxq" or "<attempt_dir>/out/model.mxq"; "" for anything else.
std::string NameInOutputFolder(absl::string_view path, const std::string& attempt_dir) {
  absl::ConsumePrefix(&path, absl::StrCat(attempt_dir, "/"));
  const bool inside = absl::ConsumePrefix(&path, absl::StrCat(kOutputFolder, "/"));
  const bool plain = inside && !absl::StrContains(path, "/") && CheckManifestPath(path).ok();
  return plain ? std::string(path) : std::string();
}

// The compiler's result for the job: its own members, and our list of outputs.
std::string ResultJson(const ResultMessage& result, const v1::CompleteAttemptRequest& completion) {
  Json document = Json::Object();
  if (absl::StatusOr<Json> rest = Json::Parse(result.rest_json); rest.ok()) {
    document = *std::move(rest);
  }
  Json outputs = Json::Array();
  for (const v1::Artifact& artifact : completion.artifacts()) {
    Json output = Json::Object();
    output.Set("name", artifact.name());
    output.Set("sha256", artifact.sha256());
    output.Set("bytes", artifact.size_bytes());
    outputs.Append(std::move(output));
  }
  document.Set("outputs", std::move(outputs));
  return document.Dump();
}

}  // namespace

Attempt::Attempt(v1::Assignment assignment, AttemptSettings settings, WorkerStub& stub,
                 ChildRunner& runner)
    : assignment_(std::move(assignment)),
      settings_(std::move(settings)),
      stub_(stub),
      runner_(runner) {
  *completion_.mutable_key() = assignment_.key();
}

LogFields Attempt::IdentityForLog() const {
  return {{"job", job_id()},
          {"attempt", absl::StrCat(key().attempt())},
          {"execution", absl::StrCat(key().execution_id())},
          {"fence", absl::StrCat(key().fence())},
          {"traceparent", assignment_.traceparent()}};
}

void Attempt::Run() {
  Outbox outbox;
  {
    Reporter reporter(stub_, assignment_.key(), outbox, stop_, settings_.report_interval);
    const Verdict verdict = Execute(outbox);
    phase_ = v1::ATTEMPT_PHASE_REPORTING;
    completion_.set_outcome(verdict.outcome);
    if (verdict.outcome == v1::ATTEMPT_OUTCOME_FAILED ||
        verdict.outcome == v1::ATTEMPT_OUTCOME_LOST) {
      *completion_.mutable_failure() = verdict.failure;
    }
    outbox.Close();
  }  // every event is at the server now, or the attempt is abandoned
  if (stop_.abandoned() || completion_.outcome() == v1::ATTEMPT_OUTCOME_UNSPECIFIED) {
    summary_ = "abandoned";
  } else {
    Complete();
  }
  directory_.reset();
}

Verdict Attempt::Execute(Outbox& outbox) {
  outbox.AddPhase("fetch");
  const std::string name =
      absl::StrCat(key().fence(), "-", key().execution_id(), "-", key().attempt());
  absl::StatusOr<AttemptDirectory> directory = AttemptDirectory::Create(settings_.work_dir, name);
  if (!directory.ok()) {
    return AgentFailureVerdict(directory.status(), "the worker's scratch folder");
  }
  directory_.emplace(*std::move(directory));
  const absl::Status fetched = FetchInputs();
  if (stop_.requested()) {
    return StoppedVerdict(stop_);
  }
  if (!fetched.ok()) {
    return AgentFailureVerdict(fetched, "inputs of the job");
  }
  phase_ = v1::ATTEMPT_PHASE_RUNNING;
  return RunCompiler(outbox);
}

absl::Status Attempt::FetchInputs() {
  QB_ASSIGN_OR_RETURN(const std::vector<InputFile> files, PlanInputs(assignment_));
  for (const InputFile& file : files) {
    QB_RETURN_IF_ERROR(
        FetchBlob({stub_, key()}, file.entry, directory_->File(file.relative_path), stop_));
  }
  if (!assignment_.config_text().empty()) {
    QB_RETURN_IF_ERROR(
        WriteFileAtomically(directory_->File(kConfigFile), assignment_.config_text()));
  }
  return absl::OkStatus();
}

ConfinementLimits Attempt::LimitsOfJob() const {
  ConfinementLimits limits = settings_.confinement.limits;
  if (assignment_.limits().memory_bytes() > 0) {
    limits.memory_bytes = assignment_.limits().memory_bytes();
  }
  if (assignment_.limits().scratch_bytes() > 0) {
    limits.scratch_bytes = assignment_.limits().scratch_bytes();
  }
  return limits;
}

RunLimits Attempt::MakeRunLimits(const ConfinementLimits& confinement,
                                 const ResourceGroup* group) const {
  RunLimits limits;
  limits.kill_grace = settings_.kill_grace;
  if (const absl::Duration timeout = ToDuration(assignment_.run_timeout());
      timeout > absl::ZeroDuration()) {
    limits.run_timeout = timeout;
  }
  limits.output_bytes = confinement.output_bytes;
  limits.scratch_folder = directory_->path();
  limits.scratch_bytes = confinement.scratch_bytes;
  limits.scratch_files = confinement.scratch_files;
  limits.memory_bytes = confinement.memory_bytes;
  limits.cpu_time = confinement.cpu_time;
  limits.group = group;
  return limits;
}

Verdict Attempt::RunCompiler(Outbox& outbox) {
  absl::StatusOr<ChildOptions> command =
      BuildCommand(assignment_, settings_.compiler_binary, directory_->path(),
                   settings_.default_threads, settings_.gpus);
  if (!command.ok()) {
    return AgentFailureVerdict(command.status(), "the assignment");
  }
  const Confinement& confinement = settings_.confinement;
  const ConfinementLimits limits = LimitsOfJob();
  // Gone with everything in it at the end of this function, whatever happens.
  std::unique_ptr<ResourceGroup> group;
  if (!confinement.helper.empty() && confinement.groups.kind != GroupParent::Kind::kNone) {
    absl::StatusOr<std::unique_ptr<ResourceGroup>> made = ResourceGroup::Create(
        confinement.groups, absl::StrCat(GroupPrefix(settings_.work_dir), key().fence()),
        {limits.memory_bytes, limits.processes});
    if (!made.ok()) {
      return AgentFailureVerdict(made.status(), "the limits of the job");
    }
    group = *std::move(made);
  }
  Transcript transcript(outbox, directory_->path());
  const absl::StatusOr<ExitReport> exit = runner_.Run(
      Confine(confinement, limits, group.get(), !settings_.gpus.empty(), *std::move(command)),
      MakeRunLimits(limits, group.get()), transcript, stop_);
  if (!exit.ok()) {
    return LostVerdict(FailureCode::kWorkerLost, exit.status().message());
  }
  phase_ = v1::ATTEMPT_PHASE_REPORTING;
  KillStrayProcesses(directory_->path());
  transcript.Finish();
  SetUsage(*exit);
  Verdict verdict = DecideVerdict(*exit, transcript, stop_);
  if (verdict.outcome == v1::ATTEMPT_OUTCOME_SUCCEEDED) {
    outbox.AddPhase("upload");
    verdict = CollectOutputs(*transcript.result());
  }
  return verdict;
}

Verdict Attempt::CollectOutputs(const ResultMessage& result) {
  std::set<std::string> names;
  for (const OutputEntry& output : result.outputs) {
    const std::string name = NameInOutputFolder(output.path, directory_->path());
    if (!name.empty() && names.size() < kMaxArtifacts) {
      names.insert(name);
    }
  }
  names.insert(MainOutput(assignment_.kind()));
  for (const std::string& name : names) {
    const absl::Status status = StoreOutput(name, result);
    if (stop_.abandoned()) {
      return {};
    }
    if (absl::IsNotFound(status)) {
      return FailedVerdict(
          FailureCode::kCompilerCrash,
          absl::StrCat("the compile process reported success without its ", status.message()));
    }
    if (absl::IsInvalidArgument(status)) {
      return FailedVerdict(FailureCode::kSandboxViolation, status.message());
    }
    if (absl::IsResourceExhausted(status)) {
      return FailedVerdict(FailureCode::kOutputLimit, status.message());
    }
    if (!status.ok()) {
      return LostVerdict(FailureCode::kWorkerLost,
                         absl::StrCat("output '", name, "': ", status.message()));
    }
  }
  completion_.set_result_json(ResultJson(result, completion_));
  Verdict verdict;
  verdict.outcome = v1::ATTEMPT_OUTCOME_SUCCEEDED;
  return verdict;
}

absl::Status Attempt::StoreOutput(const std::string& name, const ResultMessage& result) {
  QB_ASSIGN_OR_RETURN(const OutputFile file, OutputFile::Open(directory_->File(kOutputFolder), name,
                                                              settings_.max_output_bytes));
  QB_ASSIGN_OR_RETURN(const std::string sha256, file.Sha256());
  for (const OutputEntry& output : result.outputs) {
    if (NameInOutputFolder(output.path, directory_->path()) == name && !output.sha256.empty() &&
        output.sha256 != sha256) {
      return absl::DataLossError(
          absl::StrCat("the compiler named SHA-256 ", output.sha256, ", the file has ", sha256));
    }
  }
  v1::Artifact* artifact = completion_.add_artifacts();
  artifact->set_name(name);
  artifact->set_sha256(sha256);
  artifact->set_size_bytes(file.size_bytes());
  return UploadArtifact(completion_.artifacts_size() - 1);
}

absl::Status Attempt::UploadArtifact(int index) {
  const v1::Artifact& artifact = completion_.artifacts(index);
  QB_ASSIGN_OR_RETURN(const OutputFile file,
                      OutputFile::Open(directory_->File(kOutputFolder), artifact.name(),
                                       settings_.max_output_bytes));
  const std::string upload_id =
      absl::StrCat("attempt-", key().execution_id(), "-", key().fence(), "-", index);
  return StoreBlob({stub_, key()}, file, artifact.sha256(), upload_id, stop_);
}

void Attempt::SetUsage(const ExitReport& exit) {
  v1::ResourceUsage* usage = completion_.mutable_usage();
  SetSeconds(exit.wall_s, usage->mutable_wall_time());
  SetSeconds(exit.cpu_s, usage->mutable_cpu_time());
  usage->set_peak_rss_bytes(exit.peak_rss_bytes);
  usage->set_exit_code(std::max(exit.exit_code, 0));
  usage->set_signal(exit.signal);
}

void Attempt::Complete() {
  Backoff backoff = ServerBackoff();
  int reuploads = 0;
  while (!stop_.abandoned()) {
    const absl::StatusOr<v1::CompleteAttemptResponse> response = stub_.CompleteAttempt(completion_);
    if (response.ok()) {
      summary_ =
          absl::StrCat(v1::AttemptOutcome_Name(completion_.outcome()), " ",
                       completion_.failure().reason_name(), " ", completion_.failure().message());
      return;
    }
    const absl::Status& status = response.status();
    if (IsStaleAttempt(status)) {
      break;
    }
    if (absl::StartsWith(status.message(), "MISSING_BLOB") && reuploads < kMaxReuploads) {
      ++reuploads;
      for (int i = 0; i < completion_.artifacts_size(); ++i) {
        // What fails here shows again in the next answer.
        UploadArtifact(i).IgnoreError();
      }
    } else if (!IsTransient(status)) {
      summary_ = absl::StrCat("the server refused the outcome: ", status.ToString());
      return;
    }
    stop_.WaitUntilAbandoned(backoff.Next());
  }
  summary_ = "abandoned before the outcome was told";
}

}  // namespace qb::worker

#include "server/service/worker_service.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "server/service/manifest_check.h"

namespace qb::server {
namespace {

AttemptKey FromProto(const pb::AttemptKey& key) {
  return AttemptKey{key.execution_id(), key.attempt(), key.fence()};
}

// Workers serve every tenant there is; the scope of their credential says that they may.
absl::Status AuthorizeReport(const Caller& caller) {
  return Authorize(caller, {ResourceKind::kWorkerWork, caller.tenant}, Verb::kReport);
}

}  // namespace

void WorkerService::Sync(const Caller& caller, const pb::SyncRequest& request,
                         Dispatcher::SyncDone done) {
  if (absl::Status status = AuthorizeReport(caller); !status.ok()) {
    done(std::move(status));
    return;
  }
  dispatcher_.Sync(request, std::move(done));
}

absl::Status WorkerService::AppendEvents(const Caller& caller,
                                         const pb::AppendEventsRequest& request,
                                         pb::AppendEventsResponse& response) {
  QB_RETURN_IF_ERROR(AuthorizeReport(caller));
  if (request.events_size() > options_.max_events) {
    return absl::InvalidArgumentError(
        absl::StrCat("events: ", request.events_size(), ", at most ", options_.max_events));
  }
  const std::vector<pb::AttemptEvent> events(request.events().begin(), request.events().end());
  QB_ASSIGN_OR_RETURN(const EventsOutcome outcome,
                      store_.AppendEvents(FromProto(request.key()), events, clock_.WallMs()));
  response.set_committed_seq(outcome.committed_seq);
  response.set_cancel_requested(outcome.cancel_requested);
  return absl::OkStatus();
}

absl::Status WorkerService::PutLog(const Caller& caller, const pb::PutLogRequest& request,
                                   pb::PutLogResponse& response) {
  QB_RETURN_IF_ERROR(AuthorizeReport(caller));
  const AttemptKey key = FromProto(request.key());
  // The files belong to one attempt, so a late write of a stale one could harm only itself.
  const std::optional<bool> cancelled = dispatcher_.FindLease(key);
  if (!cancelled.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat("STALE_ATTEMPT: execution ", key.execution,
                                                      " attempt ", key.attempt, " with fence ",
                                                      key.fence, " is not leased"));
  }
  if (static_cast<int64_t>(request.data().size()) > options_.max_log_piece_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data: ", request.data().size(), " bytes, at most ", options_.max_log_piece_bytes));
  }
  QB_ASSIGN_OR_RETURN(const int64_t committed,
                      logs_.Append(key.execution, key.attempt, request.offset(), request.data()));
  response.set_committed_bytes(committed);
  response.set_cancel_requested(*cancelled);
  return absl::OkStatus();
}

absl::Status WorkerService::CheckCompletion(const pb::CompleteAttemptRequest& request) const {
  if (request.outcome() == pb::ATTEMPT_OUTCOME_SUCCEEDED && request.artifacts().empty()) {
    return absl::InvalidArgumentError("artifacts: expected at least one with SUCCEEDED");
  }
  if (request.artifacts_size() > options_.max_artifacts) {
    return absl::InvalidArgumentError(absl::StrCat("artifacts: ", request.artifacts_size(),
                                                   ", at most ", options_.max_artifacts));
  }
  if (static_cast<int64_t>(request.result_json().size()) > options_.max_result_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("result_json: more than ", options_.max_result_bytes, " bytes"));
  }
  ManifestLimits file_name;
  file_name.max_parts = 1;
  absl::flat_hash_set<std::string> names;
  for (const pb::Artifact& artifact : request.artifacts()) {
    QB_RETURN_IF_ERROR(CheckManifestPath("artifacts.name", artifact.name(), file_name));
    if (!IsSha256Hex(artifact.sha256()) || !names.insert(artifact.name()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("artifacts: '", artifact.name(),
                       "': expected 64 lower-case hex characters and a name of its own"));
    }
  }
  return absl::OkStatus();
}

absl::Status WorkerService::CompleteAttempt(const Caller& caller,
                                            const pb::CompleteAttemptRequest& request,
                                            pb::CompleteAttemptResponse& response) {
  QB_RETURN_IF_ERROR(AuthorizeReport(caller));
  QB_RETURN_IF_ERROR(CheckCompletion(request));
  Completion completion;
  completion.outcome = request.outcome();
  completion.failure = request.failure();
  completion.artifacts.assign(request.artifacts().begin(), request.artifacts().end());
  completion.result_json = request.result_json();
  completion.usage = request.usage();
  completion.now_ms = clock_.WallMs();
  const AttemptKey key = FromProto(request.key());
  // A job that has ended keeps its log, whatever happens to the power.
  QB_RETURN_IF_ERROR(logs_.Sync(key.execution, key.attempt));
  QB_ASSIGN_OR_RETURN(const CompletionOutcome outcome, store_.Complete(key, completion));
  dispatcher_.AttemptEnded(key);
  options_.log(LogLevel::kInfo, "attempt ended",
               {{"execution", absl::StrCat(key.execution)},
                {"attempt", absl::StrCat(key.attempt)},
                {"outcome", pb::AttemptOutcome_Name(request.outcome())},
                {"reason", request.failure().reason_name()},
                {"state", pb::JobState_Name(outcome.state)}});
  response.set_job_state(outcome.state);
  response.set_replayed(outcome.replayed);
  return absl::OkStatus();
}

}  // namespace qb::server

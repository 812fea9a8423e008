#include "server/service/job_service.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"

#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "core/base/uuid.h"
#include "server/auth/credential_file.h"
#include "server/events/jobs_stream.h"
#include "server/events/log_stream.h"
#include "server/jobs/job_failure.h"
#include "server/jobs/wire_time.h"
#include "server/runtime/draining.h"
#include "server/service/action_digest.h"
#include "server/service/config_resolution.h"
#include "server/service/resource_needs.h"
#include "server/service/status_details.h"

namespace qb::server {
namespace {

constexpr size_t kMaxRequestIdBytes = 64;
constexpr size_t kMaxCancelReasonBytes = 256;
constexpr size_t kMissingInMessage = 20;
constexpr size_t kMissingInPayload = 50;  // 65 bytes each: well below the 8 KiB of all trailers
constexpr int kWatchedJobsPerFrame = 100;

// Equal messages give equal text: map fields are sorted. Only compared within one database.
std::string Fingerprint(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return Sha256Hex(bytes);
}

absl::Status CheckRequestId(const std::string& id) {
  const bool printable =
      std::all_of(id.begin(), id.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  return id.size() <= kMaxRequestIdBytes && printable
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("request_id: expected up to ",
                                                       kMaxRequestIdBytes,
                                                       " visible ASCII characters, e.g. a UUID"));
}

int64_t ToMs(const google::protobuf::Timestamp& time) {
  const int64_t seconds = std::clamp<int64_t>(time.seconds(), 0, int64_t{1} << 40);
  return seconds * 1000 + std::clamp(time.nanos(), 0, 999'999'999) / 1'000'000;
}

// Binds a page token to what was asked: the same tenant, filter and view.
std::string TokenTag(const Caller& caller, const pb::ListJobsRequest& request) {
  pb::ListJobsRequest asked;
  *asked.mutable_filter() = request.filter();
  asked.set_view(request.view());
  return Sha256Hex(absl::StrCat(caller.tenant, "/", Fingerprint(asked))).substr(0, 16);
}

absl::StatusOr<int64_t> ParseToken(const std::string& token, const std::string& tag) {
  const std::vector<absl::string_view> parts = absl::StrSplit(token, '.');
  int64_t row = 0;
  if (parts.size() != 2 || parts[1] != tag || !absl::SimpleAtoi(parts[0], &row) || row <= 0) {
    return absl::InvalidArgumentError(
        "page_token: not one that ListJobs gave for this filter and view");
  }
  return row;
}

absl::StatusOr<JobQuery> ToQuery(const Caller& caller, const pb::ListJobsRequest& request,
                                 const JobServiceOptions& options) {
  JobQuery query;
  query.tenant = caller.tenant;
  if (request.page_size() < 0 || request.page_size() > options.max_page_size) {
    return absl::InvalidArgumentError(absl::StrCat("page_size: ", request.page_size(),
                                                   ": expected 0 to ", options.max_page_size));
  }
  query.limit = request.page_size() == 0 ? options.default_page_size : request.page_size();
  for (int state : request.filter().states()) {
    if (!pb::JobState_IsValid(state) || state == pb::JOB_STATE_UNSPECIFIED) {
      return absl::InvalidArgumentError(absl::StrCat("filter.states: ", state, " is not a state"));
    }
    query.states.push_back(static_cast<pb::JobState>(state));
  }
  query.target_device = request.filter().target_device();
  if (request.filter().has_created_after()) {
    query.created_after_ms = ToMs(request.filter().created_after());
  }
  if (request.filter().has_created_before()) {
    query.created_before_ms = ToMs(request.filter().created_before());
  }
  query.full = request.view() == pb::JOB_VIEW_FULL;
  if (!request.page_token().empty()) {
    QB_ASSIGN_OR_RETURN(query.before_row,
                        ParseToken(request.page_token(), TokenTag(caller, request)));
  }
  return query;
}

absl::Status CheckJobId(const std::string& id) {
  return IsUuid(id) ? absl::OkStatus()
                    : absl::NotFoundError(absl::StrCat("no job '", CutUtf8(id, 64), "'"));
}

// Sizes by digest; sorted, so that messages are the same each time.
using BlobSizes = std::map<std::string, int64_t>;

absl::Status Want(const pb::Manifest& manifest, BlobSizes& wanted) {
  for (const pb::ManifestEntry& entry : manifest.entries()) {
    const auto [it, added] = wanted.emplace(entry.sha256(), entry.size_bytes());
    if (!added && it->second != entry.size_bytes()) {
      return absl::InvalidArgumentError(
          absl::StrCat("spec: ", entry.sha256(), " is given with two sizes"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<BlobSizes> WantedBlobs(const pb::JobSpec& spec) {
  BlobSizes wanted;
  QB_RETURN_IF_ERROR(Want(spec.model(), wanted));
  QB_RETURN_IF_ERROR(Want(spec.evaluation(), wanted));
  for (const pb::Manifest& set : spec.calibration()) {
    QB_RETURN_IF_ERROR(Want(set, wanted));
  }
  return wanted;
}

absl::Status MissingBlobs(const std::vector<std::string>& missing) {
  const auto first = [&](size_t count, absl::string_view separator) {
    return absl::StrJoin(absl::MakeConstSpan(missing).subspan(0, count), separator);
  };
  absl::Status status = absl::FailedPreconditionError(absl::StrCat(
      "MISSING_BLOB: ", missing.size(), " files of the job are not stored: ",
      first(kMissingInMessage, " "), missing.size() > kMissingInMessage ? " ..." : ""));
  status.SetPayload(kMissingBlobsPayload, absl::Cord(first(kMissingInPayload, ",")));
  return status;
}

void LogAccepted(const Log& log, const NewJob& job, const pb::SubmitJobResponse& response) {
  const char* how = response.replayed()          ? "the same request"
                    : response.job().cache_hit() ? "a stored result"
                    : response.job().joined()    ? "joined equal work"
                                                 : "new work";
  log(LogLevel::kInfo, "job accepted",
      {{"job", response.job().id()},
       {"tenant", job.tenant},
       {"how", how},
       {"traceparent", job.traceparent}});
}

// A WatchStream that is subscribed while it lives.
class SubscribedStream final : public FrameSource<pb::WatchJobResponse> {
 public:
  SubscribedStream(WatchHub& hub, int64_t ticket, WatchStream stream)
      : hub_(hub), ticket_(ticket), stream_(std::move(stream)) {}
  ~SubscribedStream() override { hub_.Unsubscribe(ticket_); }

  absl::StatusOr<StreamStep> Next(pb::WatchJobResponse& frame) override {
    return stream_.Next(frame);
  }

 private:
  WatchHub& hub_;
  const int64_t ticket_;
  WatchStream stream_;
};

// A stream that counts as open while it lives.
template <typename Frame>
class CountedStream final : public FrameSource<Frame> {
 public:
  CountedStream(StreamTicket ticket, std::unique_ptr<FrameSource<Frame>> stream)
      : ticket_(std::move(ticket)), stream_(std::move(stream)) {}

  absl::StatusOr<StreamStep> Next(Frame& frame) override { return stream_->Next(frame); }

 private:
  const StreamTicket ticket_;
  const std::unique_ptr<FrameSource<Frame>> stream_;
};

template <typename Frame>
std::unique_ptr<FrameSource<Frame>> Counted(StreamTicket ticket,
                                            std::unique_ptr<FrameSource<Frame>> stream) {
  return std::make_unique<CountedStream<Frame>>(std::move(ticket), std::move(stream));
}

}  // namespace

JobService::JobService(const JobServiceParts& parts, JobServiceOptions options)
    : store_(parts.store),
      access_(parts.access),
      blobs_(parts.blobs),
      logs_(parts.logs),
      hub_(parts.hub),
      dispatcher_(parts.dispatcher),
      gate_(parts.gate),
      overload_(parts.overload),
      disk_(parts.disk),
      clock_(parts.clock),
      options_(std::move(options)) {}

absl::Status JobService::AdmitSubmit(const Caller& caller, absl::Duration left) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kJob, caller.tenant}, Verb::kCreate));
  QB_RETURN_IF_ERROR(overload_.Check(left));
  QB_RETURN_IF_ERROR(disk_.CheckNewWork());
  return gate_.AdmitSubmit(caller.tenant);
}

absl::Status JobService::SubmitJob(const Caller& caller, const pb::SubmitJobRequest& request,
                                   pb::SubmitJobResponse& response, std::string traceparent) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kJob, caller.tenant}, Verb::kCreate));
  QB_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  NewJob job;
  job.tenant = caller.tenant;
  job.request_id = request.request_id();
  // Of what the client sent, not of what our defaults make of it: those may change.
  job.request_fingerprint = Fingerprint(request.spec());
  if (!job.request_id.empty()) {
    // Before all checks: a repeated request gets its job, whatever has changed since.
    QB_ASSIGN_OR_RETURN(std::optional<pb::Job> known,
                        store_.FindRequest(job.tenant, job.request_id, job.request_fingerprint));
    if (known.has_value()) {
      *response.mutable_job() = *std::move(known);
      Complete(*response.mutable_job());
      response.set_replayed(true);
      return absl::OkStatus();
    }
  }
  if (!accepting_) {
    return ServerDraining("submit the job again");
  }
  job.spec = request.spec();
  job.traceparent = std::move(traceparent);
  std::vector<Violation> violations;
  ResolvedConfig config = CheckSpec(SpecForm::kComplete, job.spec, violations);
  QB_RETURN_IF_ERROR(ViolationsStatus(violations));
  job.action = ActionDigest(job.spec, config.identity_json);
  job.compiler_builds = dispatcher_.CompilerBuilds();
  job.needs = NeedsOf(job.spec);
  job.prefers_gpu = config.prefers_gpu;
  job.resolved_config_json = std::move(config.json);
  QB_RETURN_IF_ERROR(CheckInputsStored(caller, job.spec));
  job.max_waiting = gate_.limits().For(caller.tenant).max_queued_jobs;
  job.now_ms = clock_.WallMs();
  job.id = MakeUuidV7(job.now_ms);
  absl::StatusOr<SubmitOutcome> outcome = store_.Submit(job);
  if (absl::IsResourceExhausted(outcome.status())) {
    return gate_.QueueIsFull(caller.tenant);
  }
  if (absl::StartsWith(outcome.status().message(), "MISSING_BLOB: ")) {
    // Removed since the check above, which tells all of them.
    QB_RETURN_IF_ERROR(CheckInputsStored(caller, job.spec));
  }
  QB_RETURN_IF_ERROR(outcome.status());
  *response.mutable_job() = std::move(outcome->job);
  Complete(*response.mutable_job());
  response.set_replayed(outcome->replayed);
  LogAccepted(options_.log, job, response);
  return absl::OkStatus();
}

ResolvedConfig JobService::CheckSpec(SpecForm form, pb::JobSpec& spec,
                                     std::vector<Violation>& violations) {
  CheckJobSpec(options_.limits, options_.targets, form, spec, violations);
  const bool readable =
      static_cast<int64_t>(spec.config().file_text().size()) <= options_.limits.max_config_bytes &&
      static_cast<int64_t>(spec.config().overrides_json().size()) <=
          options_.limits.max_overrides_bytes;
  return readable ? configs_.Resolve(spec, violations) : ResolvedConfig();
}

absl::Status JobService::ValidateJob(const Caller& caller, const pb::ValidateJobRequest& request,
                                     pb::ValidateJobResponse& response) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kJob, caller.tenant}, Verb::kCreate));
  pb::JobSpec spec = request.spec();
  std::vector<Violation> violations;
  response.set_resolved_config_json(CheckSpec(SpecForm::kPartial, spec, violations).json);
  for (const Violation& violation : violations) {
    pb::FieldViolation* item = response.add_violations();
    item->set_field(violation.field);
    item->set_description(violation.description);
    item->set_reason(std::string(FailureRowOf(violation.code).name));
  }
  return absl::OkStatus();
}

absl::Status JobService::CheckInputsStored(const Caller& caller, const pb::JobSpec& spec) {
  QB_ASSIGN_OR_RETURN(const BlobSizes wanted, WantedBlobs(spec));
  std::vector<std::string> digests;
  for (const auto& [digest, size] : wanted) {
    digests.push_back(digest);
  }
  QB_ASSIGN_OR_RETURN(const auto sizes, blobs_.FindSizes(caller.tenant, digests));
  std::vector<std::string> missing;
  for (size_t i = 0; i < digests.size(); ++i) {
    const int64_t wanted_bytes = wanted.at(digests[i]);
    if (!sizes[i].has_value()) {
      missing.push_back(digests[i]);
    } else if (*sizes[i] != wanted_bytes) {
      return absl::InvalidArgumentError(absl::StrCat("spec: ", digests[i], " is given with ",
                                                     wanted_bytes, " bytes and has ", *sizes[i]));
    }
  }
  return missing.empty() ? absl::OkStatus() : MissingBlobs(missing);
}

absl::Status JobService::GetJob(const Caller& caller, const pb::GetJobRequest& request,
                                pb::Job& response) {
  JobPosition position;
  QB_ASSIGN_OR_RETURN(const std::string owner, FindReadable(caller, request.job_id(), position));
  QB_ASSIGN_OR_RETURN(response, store_.GetJob(owner, request.job_id()));
  if (owner != caller.tenant) {
    response.clear_worker_id();
    AddExpireTime(response);
    return absl::OkStatus();
  }
  Complete(response);
  return absl::OkStatus();
}

absl::StatusOr<std::string> JobService::FindReadable(const Caller& caller,
                                                     const std::string& job_id,
                                                     JobPosition& position) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kJob, caller.tenant}, Verb::kRead));
  QB_RETURN_IF_ERROR(CheckJobId(job_id));
  absl::StatusOr<JobPosition> own = store_.FindJob(caller.tenant, job_id);
  if (own.ok()) {
    position = *own;
    return caller.tenant;
  }
  if (!absl::IsNotFound(own.status())) {
    return own.status();
  }
  QB_ASSIGN_OR_RETURN(std::string owner, access_.FindSharer(caller.tenant, job_id));
  QB_ASSIGN_OR_RETURN(position, store_.FindJob(owner, job_id));
  return owner;
}

absl::Status JobService::SetShare(const Caller& caller, const std::string& job_id,
                                  const std::string& reader, bool shared, pb::JobShares& response) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kJob, caller.tenant}, Verb::kShare));
  QB_RETURN_IF_ERROR(CheckJobId(job_id));
  QB_RETURN_IF_ERROR(CheckTenantName(reader));
  QB_ASSIGN_OR_RETURN(const std::vector<std::string> readers,
                      access_.SetShare(caller.tenant, job_id, reader, shared, clock_.WallMs()));
  response.mutable_tenants()->Add(readers.begin(), readers.end());
  return absl::OkStatus();
}

absl::Status JobService::ShareJob(const Caller& caller, const pb::ShareJobRequest& request,
                                  pb::JobShares& response) {
  return SetShare(caller, request.job_id(), request.tenant(), /*shared=*/true, response);
}

absl::Status JobService::PinJob(const Caller& caller, const pb::PinJobRequest& request,
                                pb::Job& response) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kJob, caller.tenant}, Verb::kCreate));
  QB_RETURN_IF_ERROR(CheckJobId(request.job_id()));
  QB_RETURN_IF_ERROR(access_.SetPinned(caller.tenant, request.job_id(), request.pinned()));
  QB_ASSIGN_OR_RETURN(response, store_.GetJob(caller.tenant, request.job_id()));
  Complete(response);
  return absl::OkStatus();
}

absl::Status JobService::UnshareJob(const Caller& caller, const pb::UnshareJobRequest& request,
                                    pb::JobShares& response) {
  return SetShare(caller, request.job_id(), request.tenant(), /*shared=*/false, response);
}

void JobService::Complete(pb::Job& job) const {
  ExplainWait(job);
  AddExpireTime(job);
}

void JobService::AddExpireTime(pb::Job& job) const {
  if (IsTerminal(job.state()) && !job.pinned()) {
    SetTime(ToMs(job.finish_time()) + options_.retention.KeepMs(job.state()),
            job.mutable_expire_time());
  }
}

void JobService::ExplainWait(pb::Job& job) const {
  if (IsWaiting(job.state())) {
    if (std::string why = dispatcher_.WhyNobody(job.spec().target_device(), NeedsOf(job.spec()));
        !why.empty()) {
      job.set_wait_reason(std::move(why));
    }
  }
}

absl::Status JobService::ListJobs(const Caller& caller, const pb::ListJobsRequest& request,
                                  pb::ListJobsResponse& response) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kJob, caller.tenant}, Verb::kRead));
  QB_ASSIGN_OR_RETURN(const JobQuery query, ToQuery(caller, request, options_));
  QB_ASSIGN_OR_RETURN(JobPage page, store_.ListJobs(query));
  for (pb::Job& job : page.jobs) {
    Complete(job);
    *response.add_jobs() = std::move(job);
  }
  response.set_revision(page.revision);
  if (page.next_before_row > 0) {
    response.set_next_page_token(
        absl::StrCat(page.next_before_row, ".", TokenTag(caller, request)));
  }
  return absl::OkStatus();
}

absl::Status JobService::CancelJob(const Caller& caller, const pb::CancelJobRequest& request,
                                   pb::Job& response) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kJob, caller.tenant}, Verb::kCancel));
  QB_RETURN_IF_ERROR(CheckJobId(request.job_id()));
  QB_ASSIGN_OR_RETURN(
      CancelOutcome outcome,
      store_.RequestCancel(caller.tenant, request.job_id(),
                           CutUtf8(request.reason(), kMaxCancelReasonBytes), clock_.WallMs()));
  if (outcome.running.has_value()) {
    dispatcher_.CancelAttempt(*outcome.running);
  }
  options_.log(LogLevel::kInfo, "cancel asked for",
               {{"job", request.job_id()}, {"tenant", caller.tenant}});
  response = std::move(outcome.job);
  Complete(response);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FrameSource<pb::WatchJobResponse>>> JobService::WatchJob(
    const Caller& caller, const pb::WatchJobRequest& request, std::function<void()> wake) {
  JobPosition position;
  QB_RETURN_IF_ERROR(FindReadable(caller, request.job_id(), position).status());
  if (request.after_seq() < 0 || request.after_seq() > position.last_event_seq) {
    return absl::OutOfRangeError(absl::StrCat(
        "after_seq: ", request.after_seq(), ", the job has events 1 to ", position.last_event_seq));
  }
  QB_ASSIGN_OR_RETURN(StreamTicket open, gate_.AdmitStream(caller.tenant));
  // Subscribed before the first read: what is committed in between wakes the stream.
  const int64_t ticket = hub_.Subscribe(position.execution, std::move(wake));
  return Counted<pb::WatchJobResponse>(
      std::move(open), std::make_unique<SubscribedStream>(
                           hub_, ticket,
                           WatchStream({store_, hub_, clock_}, options_.watch, position,
                                       request.after_seq(), request.compact())));
}

absl::StatusOr<std::unique_ptr<FrameSource<pb::WatchJobsResponse>>> JobService::WatchJobs(
    const Caller& caller, const pb::WatchJobsRequest& request, std::function<void()> wake) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kJob, caller.tenant}, Verb::kRead));
  if (request.filter().states_size() > 0) {
    return absl::InvalidArgumentError(
        "filter.states: not accepted here: a job that leaves a state would vanish unseen");
  }
  if (request.after_revision() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("after_revision: ", request.after_revision(), ": expected 0 or more"));
  }
  pb::ListJobsRequest like;
  *like.mutable_filter() = request.filter();
  like.set_view(request.view());
  QB_ASSIGN_OR_RETURN(JobQuery query, ToQuery(caller, like, options_));
  query.limit = kWatchedJobsPerFrame;
  QB_ASSIGN_OR_RETURN(StreamTicket open, gate_.AdmitStream(caller.tenant));
  return Counted<pb::WatchJobsResponse>(
      std::move(open),
      std::make_unique<JobsStream>(
          store_, hub_, clock_,
          JobsWatch{std::move(query), request.after_revision(), options_.watch.idle_ms,
                    [this](pb::Job& job) { Complete(job); }},
          std::move(wake)));
}

absl::Status JobService::CountJobs(const Caller& caller, const pb::CountJobsRequest& /*request*/,
                                   pb::CountJobsResponse& response) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kJob, caller.tenant}, Verb::kRead));
  QB_ASSIGN_OR_RETURN(const auto counts, store_.CountJobs(caller.tenant));
  for (const auto& [state, count] : counts) {
    pb::JobCount* entry = response.add_counts();
    entry->set_state(state);
    entry->set_count(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FrameSource<pb::ReadLogResponse>>> JobService::ReadLog(
    const Caller& caller, const pb::ReadLogRequest& request, std::function<void()> wake) {
  JobPosition position;
  QB_ASSIGN_OR_RETURN(const std::string owner, FindReadable(caller, request.job_id(), position));
  LogRange range;
  range.attempt = request.attempt() == 0 ? position.attempt_count : request.attempt();
  if (range.attempt < 0 || range.attempt > position.attempt_count || request.limit() < 0) {
    return absl::OutOfRangeError(absl::StrCat("attempt ", range.attempt, ", limit ",
                                              request.limit(), ": the job has attempts 1 to ",
                                              position.attempt_count, "; limit is 0 or more"));
  }
  range.tenant = owner;
  range.job_id = request.job_id();
  range.execution = position.execution;
  range.offset = request.offset();
  range.limit = request.limit() == 0 ? INT64_MAX : request.limit();
  range.follow = request.follow();
  QB_ASSIGN_OR_RETURN(StreamTicket open, gate_.AdmitStream(caller.tenant));
  return Counted<pb::ReadLogResponse>(
      std::move(open),
      std::make_unique<LogStream>(store_, logs_, hub_, std::move(range), std::move(wake)));
}

}  // namespace qb::server

#include "server/http/overview.h"

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

#include "core/base/status_macros.h"

namespace qb::server {
namespace {

constexpr int64_t kHourMs = 3'600'000;
constexpr int kHours = 24;
constexpr int kMostPages = 3;  // of 1000 jobs
constexpr int64_t kKeepMs = 5'000;

struct Hour {
  int64_t succeeded = 0;
  int64_t failed = 0;
  int64_t other = 0;
};

std::string StateName(pb::JobState state) {
  const std::string name = pb::JobState_Name(state);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "JOB_STATE_"));
}

void Count(const pb::Job& job, int64_t start_ms, std::array<Hour, kHours>& hours) {
  if (!job.has_finish_time()) {
    return;
  }
  const int64_t age_ms = job.finish_time().seconds() * 1000 - start_ms;
  if (age_ms < 0 || age_ms >= kHours * kHourMs) {
    return;
  }
  Hour& hour = hours[static_cast<size_t>(age_ms / kHourMs)];
  switch (job.state()) {
    case pb::JOB_STATE_SUCCEEDED:
      ++hour.succeeded;
      break;
    case pb::JOB_STATE_FAILED:
      ++hour.failed;
      break;
    default:
      ++hour.other;
  }
}

Json WorkersJson(const qbc::v1::GetCapabilitiesResponse& server,
                 const std::map<std::string, WorkerGpus>& gpus_of) {
  Json workers = Json::Array();
  for (const qbc::v1::WorkerSummary& worker : server.workers()) {
    const auto found = gpus_of.find(worker.worker_id());
    const WorkerGpus gpus = found == gpus_of.end() ? WorkerGpus() : found->second;
    Json row = Json::Object();
    row.Set("worker_id", worker.worker_id())
        .Set("compiler_build", worker.compiler_build())
        .Set("slots", worker.slots())
        .Set("busy_slots", worker.busy_slots())
        .Set("gpus", gpus.gpus)
        .Set("busy_gpus", gpus.busy)
        .Set("draining", worker.draining());
    workers.Append(std::move(row));
  }
  return workers;
}

}  // namespace

absl::StatusOr<Json> OverviewReader::Read(const Caller& caller) {
  pb::CountJobsResponse counts;
  QB_RETURN_IF_ERROR(jobs_.CountJobs(caller, {}, counts));
  qbc::v1::GetCapabilitiesResponse server;
  QB_RETURN_IF_ERROR(info_.GetCapabilities(caller, server));
  QB_ASSIGN_OR_RETURN(const auto gpus, statistics_.ReadGpus());
  QB_ASSIGN_OR_RETURN(Json throughput, Throughput(caller));
  Json by_state = Json::Object();
  for (const pb::JobCount& count : counts.counts()) {
    by_state.Set(StateName(count.state()), count.count());
  }
  Json targets = Json::Array();
  for (const std::string& target : server.targets()) {
    targets.Append(target);
  }
  return Json::Object()
      .Set("counts", std::move(by_state))
      .Set("workers", WorkersJson(server, gpus))
      .Set("server_version", server.server_version())
      .Set("targets", std::move(targets))
      .Set("throughput", std::move(throughput));
}

absl::StatusOr<Json> OverviewReader::Throughput(const Caller& caller) {
  {
    absl::MutexLock lock(&mutex_);
    const auto found = kept_.find(caller.tenant);
    if (found != kept_.end() && clock_.MonotonicMs() - found->second.read_ms < kKeepMs) {
      return found->second.throughput;
    }
  }
  QB_ASSIGN_OR_RETURN(Json json, CountFinished(caller));
  absl::MutexLock lock(&mutex_);
  kept_[caller.tenant] = {clock_.MonotonicMs(), json};
  return json;
}

absl::StatusOr<Json> OverviewReader::CountFinished(const Caller& caller) {
  const int64_t start_ms = (clock_.WallMs() / kHourMs + 1 - kHours) * kHourMs;
  std::array<Hour, kHours> hours = {};
  pb::ListJobsRequest list;
  list.set_page_size(1000);
  for (const pb::JobState state : {pb::JOB_STATE_SUCCEEDED, pb::JOB_STATE_FAILED,
                                   pb::JOB_STATE_CANCELLED, pb::JOB_STATE_EXPIRED}) {
    list.mutable_filter()->add_states(state);
  }
  list.mutable_filter()->mutable_created_after()->set_seconds(start_ms / 1000);
  bool complete = false;
  for (int page = 0; page < kMostPages && !complete; ++page) {
    pb::ListJobsResponse answer;
    QB_RETURN_IF_ERROR(jobs_.ListJobs(caller, list, answer));
    for (const pb::Job& job : answer.jobs()) {
      Count(job, start_ms, hours);
    }
    complete = answer.next_page_token().empty();
    list.set_page_token(answer.next_page_token());
  }
  Json rows = Json::Array();
  for (const Hour& hour : hours) {
    rows.Append(Json::Object()
                    .Set("succeeded", hour.succeeded)
                    .Set("failed", hour.failed)
                    .Set("other", hour.other));
  }
  return Json::Object().Set("hours", std::move(rows)).Set("complete", complete);
}

}  // namespace qb::server

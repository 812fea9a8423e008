#include "server/metrics/server_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/statvfs.h>

#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "server/metrics/gauges.h"

namespace qb::server {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

constexpr int64_t kBlobsKeptMs = 60'000;

const Buckets& JobBuckets() {
  static const auto& buckets =
      *new Buckets{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300, 600, 1800, 3600, 7200, 21600};
  return buckets;
}

const Buckets& ShortBuckets() {
  static const auto& buckets =
      *new Buckets{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
  return buckets;
}

std::string OutcomeName(qbc::v1::JobState state) {
  const std::string name = qbc::v1::JobState_Name(state);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "JOB_STATE_"));
}

// "" for a job that succeeded; a name of the failure table otherwise, so the label stays bounded.
std::string ReasonName(qbc::v1::FailureReason reason) {
  const std::string name = qbc::v1::FailureReason_Name(reason);
  return reason == qbc::v1::FAILURE_REASON_UNSPECIFIED
             ? ""
             : absl::AsciiStrToLower(absl::StripPrefix(name, "FAILURE_REASON_"));
}

}  // namespace

struct ServerMetrics::State {
  using CounterFamily = prometheus::Family<prometheus::Counter>;
  using HistogramFamily = prometheus::Family<prometheus::Histogram>;

  // Before everything that is registered in it.
  prometheus::Registry registry;
  CounterFamily& finished = prometheus::BuildCounter()
                                .Name("qbc_jobs_finished_total")
                                .Help(
                                    "Jobs that ended since the server started, by outcome and, "
                                    "when they failed, by the reason's name.")
                                .Register(registry);
  prometheus::Counter& cache_hits = prometheus::BuildCounter()
                                        .Name("qbc_job_cache_hits_total")
                                        .Help("Jobs that got a result that was there already.")
                                        .Register(registry)
                                        .Add({});
  prometheus::Histogram& queue_seconds =
      prometheus::BuildHistogram()
          .Name("qbc_job_queue_seconds")
          .Help("Time of jobs that ended from submit to their first attempt.")
          .Register(registry)
          .Add({}, JobBuckets());
  HistogramFamily& run_seconds =
      prometheus::BuildHistogram()
          .Name("qbc_job_run_seconds")
          .Help("Time of jobs that ended from their first attempt to their end, by outcome.")
          .Register(registry);
  prometheus::Histogram& commit_seconds = prometheus::BuildHistogram()
                                              .Name("qbc_commit_seconds")
                                              .Help("Time of a commit of the store, with its sync.")
                                              .Register(registry)
                                              .Add({}, ShortBuckets());
  prometheus::Histogram& commit_wait_seconds =
      prometheus::BuildHistogram()
          .Name("qbc_commit_wait_seconds")
          .Help("Longest time that an operation of a commit waited until it was stored.")
          .Register(registry)
          .Add({}, ShortBuckets());
  prometheus::Histogram& commit_operations =
      prometheus::BuildHistogram()
          .Name("qbc_commit_operations")
          .Help("Operations that shared a commit.")
          .Register(registry)
          .Add({}, Buckets{1, 2, 4, 8, 16, 32, 64, 128, 256});
  prometheus::Gauge& wal_bytes = prometheus::BuildGauge()
                                     .Name("qbc_wal_bytes")
                                     .Help("Size of the write-ahead log after the last commit.")
                                     .Register(registry)
                                     .Add({});
  prometheus::Counter& collected_jobs =
      prometheus::BuildCounter()
          .Name("qbc_collected_jobs_total")
          .Help("Ended jobs that were removed after their time since the server started.")
          .Register(registry)
          .Add({});
  prometheus::Counter& collected_blobs =
      prometheus::BuildCounter()
          .Name("qbc_collected_blobs_total")
          .Help("Stored files that were removed since the server started.")
          .Register(registry)
          .Add({});
  prometheus::Counter& collected_bytes =
      prometheus::BuildCounter()
          .Name("qbc_collected_bytes_total")
          .Help("Bytes of stored files that were removed since the server started.")
          .Register(registry)
          .Add({});
  prometheus::Gauge& last_collection =
      prometheus::BuildGauge()
          .Name("qbc_collection_last_success_timestamp_seconds")
          .Help("When removing what is kept no longer last came to its end, or the server started.")
          .Register(registry)
          .Add({});
  CounterFamily& http_requests = prometheus::BuildCounter()
                                     .Name("qbc_http_requests_total")
                                     .Help("HTTP requests that were answered, by route and status.")
                                     .Register(registry);
  HistogramFamily& http_seconds = prometheus::BuildHistogram()
                                      .Name("qbc_http_request_seconds")
                                      .Help(
                                          "Time until the answer of an HTTP request was ready; "
                                          "of a stream, until its start.")
                                      .Register(registry);

  MetricSources sources;
  absl::Mutex mutex;
  int64_t revision ABSL_GUARDED_BY(mutex) = 0;
  BlobStatistics blobs ABSL_GUARDED_BY(mutex);
  int64_t blobs_read_ms ABSL_GUARDED_BY(mutex) = -kBlobsKeptMs;

  void Count(const FinishedJob& job);
  absl::Status CountFinished() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  absl::StatusOr<BlobStatistics> Blobs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
};

void ServerMetrics::State::Count(const FinishedJob& job) {
  const std::string outcome = OutcomeName(job.state);
  finished.Add({{"outcome", outcome}, {"reason", ReasonName(job.reason)}}).Increment();
  if (job.cache_hit) {
    cache_hits.Increment();
    return;
  }
  queue_seconds.Observe(static_cast<double>(job.queued_ms) / 1000);
  if (job.run_ms.has_value()) {
    run_seconds.Add({{"outcome", outcome}}, JobBuckets())
        .Observe(static_cast<double>(*job.run_ms) / 1000);
  }
}

absl::Status ServerMetrics::State::CountFinished() {
  while (true) {
    QB_ASSIGN_OR_RETURN(const int64_t now, sources.statistics->ReadRevision());
    if (now <= revision) {
      return absl::OkStatus();
    }
    QB_ASSIGN_OR_RETURN(revision, sources.statistics->ReadFinished(
                                      revision, [this](const FinishedJob& job) { Count(job); }));
  }
}

absl::StatusOr<BlobStatistics> ServerMetrics::State::Blobs() {
  const int64_t now_ms = sources.clock->MonotonicMs();
  if (now_ms - blobs_read_ms >= kBlobsKeptMs) {
    QB_ASSIGN_OR_RETURN(blobs, sources.statistics->ReadBlobs());
    blobs_read_ms = now_ms;
  }
  return blobs;
}

ServerMetrics::ServerMetrics() : state_(std::make_unique<State>()) {}
ServerMetrics::~ServerMetrics() = default;

absl::Status ServerMetrics::Start(MetricSources sources) {
  QB_ASSIGN_OR_RETURN(const int64_t revision, sources.statistics->ReadRevision());
  absl::MutexLock lock(&state_->mutex);
  state_->sources = std::move(sources);
  state_->revision = revision;
  state_->last_collection.Set(static_cast<double>(state_->sources.clock->WallMs()) / 1000);
  // So that a rate is right from the first job on.
  state_->finished.Add({{"outcome", "succeeded"}, {"reason", ""}});
  return absl::OkStatus();
}

void ServerMetrics::OnCommit(const CommitFigures& figures) {
  state_->commit_seconds.Observe(absl::ToDoubleSeconds(figures.commit));
  state_->commit_wait_seconds.Observe(absl::ToDoubleSeconds(figures.longest_wait));
  state_->commit_operations.Observe(static_cast<double>(figures.operations));
  state_->wal_bytes.Set(static_cast<double>(figures.wal_bytes));
}

void ServerMetrics::OnCollection(const CollectionFigures& figures) {
  state_->collected_jobs.Increment(static_cast<double>(figures.jobs));
  state_->collected_blobs.Increment(static_cast<double>(figures.blobs));
  state_->collected_bytes.Increment(static_cast<double>(figures.blob_bytes));
  state_->last_collection.Set(static_cast<double>(absl::ToUnixSeconds(figures.ended)));
}

void ServerMetrics::OnHttp(absl::string_view route, int status, absl::Duration duration) {
  const std::string name = route.empty() ? "none" : std::string(route);
  state_->http_requests.Add({{"route", name}, {"code", absl::StrCat(status)}}).Increment();
  state_->http_seconds.Add({{"route", name}}, ShortBuckets())
      .Observe(absl::ToDoubleSeconds(duration));
}

absl::StatusOr<std::string> ServerMetrics::Scrape() {
  absl::MutexLock lock(&state_->mutex);
  const MetricSources& sources = state_->sources;
  QB_RETURN_IF_ERROR(state_->CountFinished());
  const int64_t now_ms = sources.clock->WallMs();
  QB_ASSIGN_OR_RETURN(const StoreStatistics statistics, sources.statistics->Read(now_ms));
  QB_ASSIGN_OR_RETURN(const BlobStatistics blobs, state_->Blobs());
  std::vector<prometheus::MetricFamily> families;
  families.push_back(Gauge("qbc_up", "1: the server answers.", 1));
  families.push_back(
      Gauge("qbc_server_info", "The server's version.", {{{{"version", sources.version}}, 1}}));
  AppendQueue(statistics, now_ms, families);
  QB_ASSIGN_OR_RETURN(const auto gpus, sources.statistics->ReadGpus());
  AppendWorkers(sources.workers(), gpus, families);
  families.push_back(
      Gauge("qbc_blobs", "Files that are stored.", static_cast<double>(blobs.blobs)));
  families.push_back(Gauge("qbc_blob_bytes", "Bytes of all files that are stored.",
                           static_cast<double>(blobs.bytes)));
  struct statvfs disk = {};
  if (statvfs(sources.data_dir.c_str(), &disk) == 0) {
    families.push_back(
        Gauge("qbc_data_free_bytes", "Free bytes of the disk of the data folder.",
              static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize)));
  }
  AppendProcess(families);
  std::vector<prometheus::MetricFamily> registered = state_->registry.Collect();
  families.insert(families.end(), std::make_move_iterator(registered.begin()),
                  std::make_move_iterator(registered.end()));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace qb::server

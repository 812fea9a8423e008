#include "server/retention/collector.h"

#include <vector>

#include "absl/time/clock.h"

#include "core/base/status_macros.h"

namespace qb::server {
namespace {

// Of one transaction.
constexpr int kJobsPerCommit = 100;
constexpr int kResultsPerCommit = 10;
constexpr int kLogsPerCommit = 200;
// Of the 256 folders of blobs, looked at in each round.
constexpr int kFoldersPerRound = 4;

}  // namespace

absl::Status Collector::Repeat(const std::function<absl::StatusOr<int>()>& step, int64_t& removed) {
  while (!stop_()) {
    const absl::Time start = absl::Now();
    QB_ASSIGN_OR_RETURN(const int count, step());
    if (count == 0) {
      break;
    }
    removed += count;
    if (parts_.pause) {
      parts_.pause(absl::Now() - start);
    }
  }
  return absl::OkStatus();
}

absl::Status Collector::RemoveRows(CollectedThings& collected) {
  const auto jobs = [this] {
    return parts_.retention.RemoveEndedJobs(policy_, parts_.clock.WallMs(), kJobsPerCommit);
  };
  QB_RETURN_IF_ERROR(Repeat(jobs, collected.jobs));
  const auto results = [this] {
    return parts_.retention.RemoveOldResults(policy_, parts_.clock.WallMs(), kResultsPerCommit);
  };
  return Repeat(results, collected.results);
}

absl::Status Collector::RemoveLogs(CollectedThings& collected) {
  while (!stop_()) {
    QB_ASSIGN_OR_RETURN(const std::vector<int64_t> doomed,
                        parts_.retention.ListDoomedLogs(kLogsPerCommit));
    if (doomed.empty()) {
      break;
    }
    for (const int64_t execution : doomed) {
      QB_RETURN_IF_ERROR(parts_.logs.Remove(execution));
    }
    QB_RETURN_IF_ERROR(parts_.retention.ForgetDoomedLogs(doomed));
    collected.logs += static_cast<int64_t>(doomed.size());
  }
  return absl::OkStatus();
}

absl::Status Collector::Sweep(CollectedThings& collected) {
  for (int i = 0; i < kFoldersPerRound && !stop_(); ++i) {
    QB_ASSIGN_OR_RETURN(const int64_t removed, parts_.blobs.SweepFolder(next_folder_));
    next_folder_ = (next_folder_ + 1) % 256;
    collected.blobs += removed;
  }
  return absl::OkStatus();
}

absl::StatusOr<CollectedThings> Collector::RunOnce() {
  CollectedThings collected;
  QB_RETURN_IF_ERROR(RemoveRows(collected));
  QB_RETURN_IF_ERROR(RemoveLogs(collected));
  QB_ASSIGN_OR_RETURN(const BlobCollection blobs,
                      parts_.blobs.CollectUnused(parts_.clock.WallMs() - policy_.unused_ms, stop_));
  collected.blobs += blobs.blobs;
  collected.blob_bytes += blobs.bytes;
  collected.uploads += blobs.uploads;
  QB_RETURN_IF_ERROR(Sweep(collected));
  return collected;
}

}  // namespace qb::server

// What Prometheus reads. Names, meanings and labels: docs/operations.md.
//
// No label has the name of a job, a tenant or a user: the number of series depends on the number of
// states, routes and connected workers only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "proto/qbc/v1/server_info.pb.h"
#include "server/jobs/sqlite_statistics.h"
#include "server/runtime/clock.h"

namespace qb::server {

// Where the numbers come from; all of it outlives the metrics.
struct MetricSources {
  SqliteStatistics* statistics = nullptr;
  const Clock* clock = nullptr;
  std::function<std::vector<qbc::v1::WorkerSummary>()> workers;
  std::string data_dir;
  std::string version;
};

struct CommitFigures {
  int64_t operations = 0;
  absl::Duration longest_wait;
  absl::Duration commit;
  int64_t wal_bytes = 0;
};

// What a round of removing has removed, and when it ended.
struct CollectionFigures {
  int64_t jobs = 0;
  int64_t blobs = 0;
  int64_t blob_bytes = 0;
  absl::Time ended;
};

// Thread-safe.
class ServerMetrics {
 public:
  ServerMetrics();
  ~ServerMetrics();

  // Does not wait.
  void OnCommit(const CommitFigures& figures);
  void OnCollection(const CollectionFigures& figures);
  void OnHttp(absl::string_view route, int status, absl::Duration duration);

  // Counts jobs that end from now on. Once, before Scrape. Errors: those of the store.
  absl::Status Start(MetricSources sources);
  // The text format. Waits for the disk. Errors: those of the store.
  absl::StatusOr<std::string> Scrape();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace qb::server

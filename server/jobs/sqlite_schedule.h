// The order of waiting work, kept in memory beside the database, which stays the truth.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "server/jobs/sqlite_writer.h"
#include "server/jobs/work_queue.h"

namespace qb::server {

// Used by operations of the writer, so by one thread.
class SqliteSchedule {
 public:
  // Reads again what has moved since the last call; everything at the first.
  absl::Status Refresh(WriteTx& tx, int64_t now_ms);
  WorkQueue& queue() { return queue_; }

 private:
  absl::Status LoadAll(SqliteConnection& db, int64_t now_ms);
  absl::Status Load(SqliteConnection& db, int64_t execution, int64_t now_ms);

  WorkQueue queue_;
  bool loaded_ = false;
};

}  // namespace qb::server

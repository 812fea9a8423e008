// A few connections for reading, shared by all threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "server/jobs/sqlite_connection.h"

namespace qb::server {

// Thread-safe.
class SqliteReaders {
 public:
  // The database must exist. `limit_ms`: a read that takes longer fails with DeadlineExceeded,
  // because an open read keeps the write-ahead log from being emptied.
  static absl::StatusOr<std::unique_ptr<SqliteReaders>> Create(const std::string& path, int count,
                                                               int64_t limit_ms);

  // Runs `read` inside one read transaction: all its queries see the same state. Waits for a free
  // connection. `read` must not call Run.
  absl::Status Run(const std::function<absl::Status(SqliteConnection&)>& read);

 private:
  explicit SqliteReaders(int64_t limit_ms) : limit_ms_(limit_ms) {}
  bool HasFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !free_.empty(); }

  const int64_t limit_ms_;
  std::vector<std::unique_ptr<SqliteConnection>> connections_;
  absl::Mutex mutex_;
  std::vector<SqliteConnection*> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server

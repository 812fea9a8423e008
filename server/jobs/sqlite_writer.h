// The one thread that changes the database: operations that wait at the same time share a commit.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "server/jobs/job_store.h"
#include "server/jobs/sqlite_connection.h"

namespace qb::server {

// One commit.
struct CommitTiming {
  int64_t operations = 0;
  absl::Duration longest_wait;  // of an operation, from its call until the commit's end
  absl::Duration commit;        // BEGIN to COMMIT
  int64_t wal_bytes = 0;        // after it
};

struct SqliteWriterOptions {
  // Operations of one commit. More: better throughput, longer waits. Default 256.
  int max_batch = 256;
  // Size of the write-ahead log from which pages are moved to the database. Default 16 MiB.
  int64_t checkpoint_bytes = int64_t{16} << 20;
  // Size from which the log is also emptied, which waits for readers. Default 64 MiB.
  int64_t truncate_bytes = int64_t{64} << 20;
  // Called once, on the writer's thread, after an error that makes further promises impossible.
  std::function<void(const absl::Status&)> on_fatal;
  // Called on the writer's thread after every commit; must not wait.
  std::function<void(const CommitTiming&)> on_commit;
};

// Executions whose state or place in the queue changed. `seen`: how many of them a cache has read
// again in the batch under way; they are dropped when the batch is committed and come again when it
// is not.
struct MovedExecutions {
  std::vector<int64_t> ids;
  size_t seen = 0;
};

// What an operation works with.
struct WriteTx {
  SqliteConnection& db;
  CommitNotice& notice;    // told to the listener if the operation succeeds
  MovedExecutions& moved;  // kept also when the operation fails: reading one again is harmless
};

// Thread-safe. A batch is: BEGIN IMMEDIATE; a SAVEPOINT for each operation, rolled back alone when
// it fails; one COMMIT with a sync; the listener; then the callers go on. An operation runs once.
class SqliteWriter {
 public:
  using Operation = std::function<absl::Status(WriteTx&)>;

  SqliteWriter(std::unique_ptr<SqliteConnection> connection, SqliteWriterOptions options);
  // Finishes what is queued, empties the log and closes.
  ~SqliteWriter();

  void SetCommitListener(CommitListener listener);

  // Runs `operation` in a transaction and returns after the commit. Errors: the operation's own;
  // that of the commit; Unavailable after a fatal error.
  absl::Status Run(Operation operation);

  // How long the oldest operation that is not yet committed has waited; 0: none. Does not wait.
  absl::Duration Delay() const;

  // Whether operations wait for the batch after the one under way. For an operation that could as
  // well go on later.
  bool OthersWait() const;

 private:
  struct Waiter {
    Operation operation;
    absl::Time asked = absl::Now();
    absl::Status status;
    CommitNotice notice;
    bool done = false;  // guarded by mutex_
  };

  void Loop();
  bool HasWorkOrEnds() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CommitBatch(const std::deque<Waiter*>& batch);
  absl::Status RunOne(Waiter& waiter);
  void Tell(const std::deque<Waiter*>& batch);
  void TellTiming(const std::deque<Waiter*>& batch, absl::Time began);
  void CheckpointIfDue();
  void Stop(const absl::Status& cause);

  std::unique_ptr<SqliteConnection> connection_;  // the thread's alone
  const SqliteWriterOptions options_;
  absl::Status fatal_;     // the thread's alone
  MovedExecutions moved_;  // the thread's alone
  mutable absl::Mutex mutex_;
  CommitListener listener_ ABSL_GUARDED_BY(mutex_);
  std::deque<Waiter*> queue_ ABSL_GUARDED_BY(mutex_);
  // When the oldest operation of the batch under way was asked for; InfiniteFuture: no batch.
  absl::Time batch_asked_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace qb::server

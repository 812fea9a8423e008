// One SQLite connection and its statements. sqlite3.h is included by the sqlite_* files alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace qb::server {

// One use of a prepared statement: bind, step, read, and reset by the destructor. The first error
// is kept and comes from Step. Never outlives its connection.
class SqliteQuery {
 public:
  ~SqliteQuery();
  SqliteQuery(SqliteQuery&& other) noexcept;
  SqliteQuery& operator=(SqliteQuery&&) = delete;

  // Binds the next parameter, from the left.
  SqliteQuery& Int(int64_t value);
  SqliteQuery& Text(absl::string_view value);
  SqliteQuery& Blob(absl::string_view value);
  SqliteQuery& Null();

  // True: a row is there. False: done.
  absl::StatusOr<bool> Step();
  // Steps to the end, dropping rows.
  absl::Status Run();

  // Columns of the row, from 0. NULL reads as 0 and "". The view lives until the next Step.
  int64_t IntAt(int column) const;
  absl::string_view TextAt(int column) const;
  bool IsNull(int column) const;

 private:
  friend class SqliteConnection;
  SqliteQuery(sqlite3* db, sqlite3_stmt* statement, bool owned, absl::Status status);
  void Check(int code);

  sqlite3* db_;
  sqlite3_stmt* statement_;
  bool owned_;  // finalize instead of reset
  absl::Status status_;
  int next_parameter_ = 1;
};

// Thread-compatible: one thread at a time.
class SqliteConnection {
 public:
  enum class Mode {
    kWriter,  // creates the file; the only connection of the file that writes and checkpoints
    kReader,  // cannot write and never checkpoints, not even when it closes
  };

  // Errors: Unavailable or DataLoss with the path and SQLite's text.
  static absl::StatusOr<std::unique_ptr<SqliteConnection>> Open(const std::string& path, Mode mode);
  ~SqliteConnection();
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  // `sql` must be a literal: statements are kept by its address.
  SqliteQuery Prepare(const char* sql);
  // For SQL that is put together at run time.
  SqliteQuery PrepareOnce(const std::string& sql);
  // Runs statements without parameters.
  absl::Status Execute(const std::string& sql);

  int64_t LastInsertRow() const;
  // Rows changed by the last statement.
  int64_t Changes() const;
  // False once SQLite has rolled a transaction back by itself.
  bool InTransaction() const;

  // Bytes in the write-ahead log after the last commit of this connection (writer only).
  int64_t wal_bytes() const { return wal_bytes_; }
  // Writer only. Truncating waits for readers, for at most the busy timeout.
  absl::Status Checkpoint(bool truncate);

  // Copies the database, as it is at one moment, into a new file at `path` that no log belongs to.
  // Others go on writing meanwhile; the log cannot be emptied until the copy is made. Not synced.
  absl::Status CopyTo(const std::string& path);

  // Statements of this connection fail with DeadlineExceeded this long after the call; 0: no limit.
  void LimitTimeMs(int64_t limit_ms);

 private:
  explicit SqliteConnection(sqlite3* db) : db_(db) {}
  absl::Status Configure(Mode mode);
  static int OnProgress(void* self);
  static int OnWalCommit(void* self, sqlite3* db, const char* name, int pages);

  sqlite3* db_;
  absl::flat_hash_map<const char*, sqlite3_stmt*> statements_;
  int64_t wal_bytes_ = 0;
  int64_t page_bytes_ = 4096;
  int64_t deadline_ms_ = 0;
};

// Of the library that is linked, e.g. "3.40.1".
std::string SqliteVersion();

// True for a status after which nothing more may be promised: failed syncs, corruption, a full
// disk.
bool IsFatalStoreError(const absl::Status& status);

}  // namespace qb::server

// The database file of a server: its writer and its readers.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "server/jobs/sqlite_readers.h"
#include "server/jobs/sqlite_writer.h"

namespace qb::server {

struct SqliteDatabaseOptions {
  SqliteWriterOptions writer;
  int readers = 4;               // connections for reading
  int64_t read_limit_ms = 5000;  // longest read transaction
};

// Thread-safe. Everything that changes goes through `writer`, everything else through `readers`.
class SqliteDatabase {
 public:
  // Opens or makes `path`, brings its tables up to date and syncs the folder.
  // Errors: FailedPrecondition for a file of another program or a newer version; Unavailable,
  // DataLoss.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(const std::string& path,
                                                              SqliteDatabaseOptions options);

  SqliteWriter& writer() { return *writer_; }
  SqliteReaders& readers() { return *readers_; }

 private:
  SqliteDatabase() = default;

  // The readers close first: only then can the writer empty the log.
  std::unique_ptr<SqliteWriter> writer_;
  std::unique_ptr<SqliteReaders> readers_;
};

}  // namespace qb::server

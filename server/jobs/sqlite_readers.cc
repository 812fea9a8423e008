#include "server/jobs/sqlite_readers.h"

#include <utility>

#include "core/base/status_macros.h"

namespace qb::server {
namespace {

absl::Status ReadInTransaction(SqliteConnection& db,
                               const std::function<absl::Status(SqliteConnection&)>& read) {
  QB_RETURN_IF_ERROR(db.Prepare("BEGIN").Run());
  absl::Status status = read(db);
  // Ends the transaction whatever came out; an interrupted one may be gone already.
  if (db.InTransaction()) {
    status.Update(db.Prepare("COMMIT").Run());
  }
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteReaders>> SqliteReaders::Create(const std::string& path,
                                                                     int count, int64_t limit_ms) {
  auto readers = std::unique_ptr<SqliteReaders>(new SqliteReaders(limit_ms));
  for (int i = 0; i < count; ++i) {
    QB_ASSIGN_OR_RETURN(std::unique_ptr<SqliteConnection> connection,
                        SqliteConnection::Open(path, SqliteConnection::Mode::kReader));
    readers->connections_.push_back(std::move(connection));
  }
  absl::MutexLock lock(&readers->mutex_);
  for (const auto& connection : readers->connections_) {
    readers->free_.push_back(connection.get());
  }
  return readers;
}

absl::Status SqliteReaders::Run(const std::function<absl::Status(SqliteConnection&)>& read) {
  SqliteConnection* connection = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &SqliteReaders::HasFree));
    connection = free_.back();
    free_.pop_back();
  }
  connection->LimitTimeMs(limit_ms_);
  absl::Status status = ReadInTransaction(*connection, read);
  connection->LimitTimeMs(0);
  absl::MutexLock lock(&mutex_);
  free_.push_back(connection);
  return status;
}

}  // namespace qb::server

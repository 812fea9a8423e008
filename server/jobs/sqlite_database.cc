#include "server/jobs/sqlite_database.h"

#include <utility>

#include "core/base/status_macros.h"
#include "server/jobs/sqlite_schema.h"
#include "server/runtime/durable_files.h"

namespace qb::server {

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(
    const std::string& path, SqliteDatabaseOptions options) {
  QB_ASSIGN_OR_RETURN(std::unique_ptr<SqliteConnection> connection,
                      SqliteConnection::Open(path, SqliteConnection::Mode::kWriter));
  QB_RETURN_IF_ERROR(MigrateSchema(*connection));
  QB_RETURN_IF_ERROR(SyncFolder(path.substr(0, path.rfind('/'))));
  auto database = std::unique_ptr<SqliteDatabase>(new SqliteDatabase());
  database->writer_ =
      std::make_unique<SqliteWriter>(std::move(connection), std::move(options.writer));
  QB_ASSIGN_OR_RETURN(database->readers_,
                      SqliteReaders::Create(path, options.readers, options.read_limit_ms));
  return database;
}

}  // namespace qb::server

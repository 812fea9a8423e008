#include "server/jobs/sqlite_backup.h"

#include <memory>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/jobs/sqlite_connection.h"
#include "server/jobs/sqlite_schema.h"
#include "server/runtime/durable_files.h"

namespace qb::server {
namespace {

// More leases than a server gives out in a year of one a second.
constexpr int64_t kFenceGap = int64_t{1} << 25;

absl::StatusOr<std::string> OneText(SqliteConnection& db, const char* sql) {
  SqliteQuery query = db.PrepareOnce(sql);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  return row ? std::string(query.TextAt(0)) : std::string();
}

absl::Status Prepare(const std::string& path) {
  // A reader's connection: it does not switch the write-ahead log on.
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteConnection> db,
                      SqliteConnection::Open(path, SqliteConnection::Mode::kReader));
  QB_RETURN_IF_ERROR(db->Execute(
      absl::StrCat("PRAGMA query_only=0; BEGIN IMMEDIATE; UPDATE meta SET value = value + ",
                   kFenceGap, " WHERE key = 'next_fence'; DELETE FROM upload; COMMIT;")));
  QB_ASSIGN_OR_RETURN(const std::string verdict, OneText(*db, "PRAGMA quick_check(1)"));
  return verdict == "ok" ? absl::OkStatus()
                         : absl::DataLossError(absl::StrCat("database: the copy at '", path,
                                                            "' is damaged: ", verdict));
}

}  // namespace

absl::Status BackUpDatabase(const std::string& from, const std::string& to) {
  QB_RETURN_IF_ERROR(ReadSchemaVersion(from).status());
  {
    QB_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteConnection> db,
                        SqliteConnection::Open(from, SqliteConnection::Mode::kReader));
    QB_RETURN_IF_ERROR(db->CopyTo(to));
  }
  QB_RETURN_IF_ERROR(Prepare(to));
  return SyncFile(to);
}

absl::Status ForEachBlob(
    const std::string& path,
    absl::FunctionRef<absl::Status(absl::string_view sha256, int64_t size_bytes)> on_blob) {
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteConnection> db,
                      SqliteConnection::Open(path, SqliteConnection::Mode::kReader));
  SqliteQuery query = db->PrepareOnce("SELECT sha256, size_bytes FROM blob ORDER BY sha256");
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return absl::OkStatus();
    }
    QB_RETURN_IF_ERROR(on_blob(query.TextAt(0), query.IntAt(1)));
  }
}

}  // namespace qb::server

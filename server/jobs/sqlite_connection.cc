#include "server/jobs/sqlite_connection.h"

#include <sqlite3.h>
#include <time.h>

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace qb::server {
namespace {

constexpr char kFatalPayload[] = "qb/store_fatal";
constexpr int kBusyTimeoutMs = 5000;
constexpr int kCopyPauseMs = 20;
constexpr int kStepsBetweenTimeChecks = 10'000;

int64_t NowMs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

absl::Status ToStatus(sqlite3* db, int code, absl::string_view what) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) {
    return absl::OkStatus();
  }
  const std::string text = absl::StrCat(
      "database: ", what, ": ", db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code),
      " (code ", db != nullptr ? sqlite3_extended_errcode(db) : code, ")");
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(text);
    case SQLITE_INTERRUPT:
      return absl::DeadlineExceededError(text);
    case SQLITE_CONSTRAINT:
      return absl::AlreadyExistsError(text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_IOERR:
    case SQLITE_FULL: {
      absl::Status status = absl::DataLossError(text);
      status.SetPayload(kFatalPayload, absl::Cord("1"));
      return status;
    }
    case SQLITE_CANTOPEN:
      return absl::UnavailableError(text);
    default:
      return absl::InternalError(text);
  }
}

// All pages in one step: one read transaction, so that what is committed meanwhile does not make
// it begin again.
absl::Status CopyPages(sqlite3* from, sqlite3* to) {
  sqlite3_backup* copy = sqlite3_backup_init(to, "main", from, "main");
  if (copy == nullptr) {
    return ToStatus(to, sqlite3_errcode(to), "copy");
  }
  int code = SQLITE_BUSY;
  while (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    code = sqlite3_backup_step(copy, -1);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
      sqlite3_sleep(kCopyPauseMs);
    }
  }
  sqlite3_backup_finish(copy);
  return code == SQLITE_DONE ? absl::OkStatus() : ToStatus(to, code, "copy");
}

}  // namespace

std::string SqliteVersion() { return sqlite3_libversion(); }

bool IsFatalStoreError(const absl::Status& status) {
  return !status.ok() && status.GetPayload(kFatalPayload).has_value();
}

// ---- SqliteQuery

SqliteQuery::SqliteQuery(sqlite3* db, sqlite3_stmt* statement, bool owned, absl::Status status)
    : db_(db), statement_(statement), owned_(owned), status_(std::move(status)) {}

SqliteQuery::SqliteQuery(SqliteQuery&& other) noexcept
    : db_(other.db_),
      statement_(std::exchange(other.statement_, nullptr)),
      owned_(other.owned_),
      status_(std::move(other.status_)),
      next_parameter_(other.next_parameter_) {}

SqliteQuery::~SqliteQuery() {
  if (statement_ == nullptr) {
    return;
  }
  // Their codes repeat an error that Step has reported.
  if (owned_) {
    sqlite3_finalize(statement_);
  } else {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
}

void SqliteQuery::Check(int code) {
  if (status_.ok()) {
    status_ = ToStatus(db_, code, "bind");
  }
}

SqliteQuery& SqliteQuery::Int(int64_t value) {
  if (status_.ok()) {
    Check(sqlite3_bind_int64(statement_, next_parameter_++, value));
  }
  return *this;
}

SqliteQuery& SqliteQuery::Text(absl::string_view value) {
  if (status_.ok()) {
    // An empty view may have a null pointer, which would bind NULL.
    Check(sqlite3_bind_text64(statement_, next_parameter_++, value.empty() ? "" : value.data(),
                              value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  return *this;
}

SqliteQuery& SqliteQuery::Blob(absl::string_view value) {
  if (status_.ok()) {
    Check(sqlite3_bind_blob64(statement_, next_parameter_++, value.empty() ? "" : value.data(),
                              value.size(), SQLITE_TRANSIENT));
  }
  return *this;
}

SqliteQuery& SqliteQuery::Null() {
  if (status_.ok()) {
    Check(sqlite3_bind_null(statement_, next_parameter_++));
  }
  return *this;
}

absl::StatusOr<bool> SqliteQuery::Step() {
  QB_RETURN_IF_ERROR(status_);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) {
    return true;
  }
  status_ = ToStatus(db_, code, sqlite3_sql(statement_));
  QB_RETURN_IF_ERROR(status_);
  return false;
}

absl::Status SqliteQuery::Run() {
  bool more = true;
  while (more) {
    QB_ASSIGN_OR_RETURN(more, Step());
  }
  return absl::OkStatus();
}

int64_t SqliteQuery::IntAt(int column) const { return sqlite3_column_int64(statement_, column); }

absl::string_view SqliteQuery::TextAt(int column) const {
  // Blob access leaves the bytes as they are, for text columns too.
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr
             ? absl::string_view()
             : absl::string_view(static_cast<const char*>(bytes), static_cast<size_t>(size));
}

bool SqliteQuery::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

// ---- SqliteConnection

absl::StatusOr<std::unique_ptr<SqliteConnection>> SqliteConnection::Open(const std::string& path,
                                                                         Mode mode) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (mode == Mode::kWriter) {
    flags |= SQLITE_OPEN_CREATE;
  }
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  if (code != SQLITE_OK) {
    absl::Status status = ToStatus(db, code, absl::StrCat("open ", path));
    sqlite3_close_v2(db);
    return status;
  }
  auto connection = std::unique_ptr<SqliteConnection>(new SqliteConnection(db));
  QB_RETURN_IF_ERROR(connection->Configure(mode));
  return connection;
}

SqliteConnection::~SqliteConnection() {
  for (const auto& [sql, statement] : statements_) {
    sqlite3_finalize(statement);
  }
  sqlite3_close_v2(db_);
}

absl::Status SqliteConnection::Configure(Mode mode) {
  sqlite3_busy_timeout(db_, kBusyTimeoutMs);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  // SQLite before 3.51.3 can lose commits when two connections checkpoint one file: only the writer
  // ever does, when we say so, and no connection does it on its own (https://sqlite.org/wal.html).
  QB_RETURN_IF_ERROR(
      Execute("PRAGMA wal_autocheckpoint=0; PRAGMA foreign_keys=1; PRAGMA trusted_schema=0;"
              "PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY;"));
  if (mode == Mode::kReader) {
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_progress_handler(db_, kStepsBetweenTimeChecks, &SqliteConnection::OnProgress, this);
    return Execute("PRAGMA query_only=1;");
  }
  std::string journal;
  {
    SqliteQuery query = PrepareOnce("PRAGMA journal_mode=WAL");
    QB_ASSIGN_OR_RETURN(bool row, query.Step());
    journal = row ? std::string(query.TextAt(0)) : "";
  }
  if (journal != "wal") {
    return absl::FailedPreconditionError(
        absl::StrCat("database: this file system does not allow a write-ahead log (journal mode '",
                     journal, "'): use a local disk"));
  }
  QB_RETURN_IF_ERROR(Execute("PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864;"));
  {
    SqliteQuery query = PrepareOnce("PRAGMA page_size");
    QB_ASSIGN_OR_RETURN(bool row, query.Step());
    QB_CHECK(row);
    page_bytes_ = query.IntAt(0);
  }
  sqlite3_wal_hook(db_, &SqliteConnection::OnWalCommit, this);
  return absl::OkStatus();
}

int SqliteConnection::OnProgress(void* self) {
  const auto* connection = static_cast<SqliteConnection*>(self);
  return connection->deadline_ms_ != 0 && NowMs() > connection->deadline_ms_ ? 1 : 0;
}

int SqliteConnection::OnWalCommit(void* self, sqlite3* /*db*/, const char* /*name*/, int pages) {
  auto* connection = static_cast<SqliteConnection*>(self);
  connection->wal_bytes_ = int64_t{pages} * connection->page_bytes_;
  return SQLITE_OK;
}

absl::Status SqliteConnection::CopyTo(const std::string& path) {
  sqlite3* copy = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &copy,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE, nullptr);
  absl::Status status = ToStatus(copy, code, absl::StrCat("open ", path));
  if (status.ok()) {
    status = CopyPages(db_, copy);
  }
  if (status.ok()) {
    // The header says that there is a write-ahead log: the copy has none.
    const int changed = sqlite3_exec(copy, "PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr);
    status = ToStatus(copy, changed, "journal_mode");
  }
  sqlite3_close_v2(copy);
  return status;
}

void SqliteConnection::LimitTimeMs(int64_t limit_ms) {
  deadline_ms_ = limit_ms == 0 ? 0 : NowMs() + limit_ms;
}

SqliteQuery SqliteConnection::Prepare(const char* sql) {
  auto& slot = statements_[sql];
  if (slot != nullptr && sqlite3_stmt_busy(slot) != 0) {
    return PrepareOnce(sql);  // in use further up the stack
  }
  if (slot != nullptr) {
    return SqliteQuery(db_, slot, /*owned=*/false, absl::OkStatus());
  }
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) {
    statements_.erase(sql);
    return SqliteQuery(db_, nullptr, /*owned=*/false, ToStatus(db_, code, sql));
  }
  slot = statement;
  return SqliteQuery(db_, statement, /*owned=*/false, absl::OkStatus());
}

SqliteQuery SqliteConnection::PrepareOnce(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
  return SqliteQuery(db_, statement, /*owned=*/true, ToStatus(db_, code, sql));
}

absl::Status SqliteConnection::Execute(const std::string& sql) {
  return ToStatus(db_, sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), sql);
}

int64_t SqliteConnection::LastInsertRow() const { return sqlite3_last_insert_rowid(db_); }

int64_t SqliteConnection::Changes() const { return sqlite3_changes64(db_); }

bool SqliteConnection::InTransaction() const { return sqlite3_get_autocommit(db_) == 0; }

absl::Status SqliteConnection::Checkpoint(bool truncate) {
  int log_pages = 0;
  int moved_pages = 0;
  const int code = sqlite3_wal_checkpoint_v2(
      db_, nullptr, truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, &log_pages,
      &moved_pages);
  if ((code & 0xff) == SQLITE_BUSY) {
    return absl::OkStatus();  // readers hold it; the next one moves more
  }
  QB_RETURN_IF_ERROR(ToStatus(db_, code, "checkpoint"));
  if (truncate && log_pages == 0) {
    wal_bytes_ = 0;
  }
  return absl::OkStatus();
}

}  // namespace qb::server

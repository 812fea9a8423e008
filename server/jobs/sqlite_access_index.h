// The AccessIndex in SQLite.
#pragma once

#include <string>
#include <vector>

#include "server/jobs/access_index.h"
#include "server/jobs/sqlite_database.h"

namespace qb::server {

class SqliteAccessIndex final : public AccessIndex {
 public:
  // `database` outlives the index.
  explicit SqliteAccessIndex(SqliteDatabase& database) : database_(database) {}

  absl::StatusOr<std::vector<std::string>> SetShare(absl::string_view owner,
                                                    absl::string_view job_id,
                                                    absl::string_view reader, bool shared,
                                                    int64_t now_ms) override;
  absl::Status SetPinned(absl::string_view owner, absl::string_view job_id, bool pinned) override;
  absl::StatusOr<std::string> FindSharer(absl::string_view reader,
                                         absl::string_view job_id) override;
  absl::StatusOr<std::string> FindBlobSharer(absl::string_view reader,
                                             absl::string_view sha256) override;
  absl::StatusOr<std::string> TenantOfAttempt(const AttemptKey& key) override;

 private:
  SqliteDatabase& database_;
};

// Makes the row that everything of a tenant refers to.
absl::Status EnsureTenant(SqliteConnection& db, absl::string_view tenant, int64_t now_ms);

}  // namespace qb::server

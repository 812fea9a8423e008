// The tables, and the steps from one version of them to the next.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/jobs/sqlite_connection.h"

namespace qb::server {

// The version that this program writes.
int CurrentSchemaVersion();

// Brings an empty or older database to `version` (tests make old files that way), one transaction a
// step. Errors: FailedPrecondition when the file is of another program or of a newer version than
// this program knows.
absl::Status MigrateSchema(SqliteConnection& db, int version = CurrentSchemaVersion());

// The version of the file at `path`, which a server may be using. Errors: FailedPrecondition when
// it is of another program or of a newer version; those of opening it.
absl::StatusOr<int> ReadSchemaVersion(const std::string& path);

}  // namespace qb::server

// The tables, and the steps from one version of them to the next.
#pragma once

#include "absl/status/status.h"

#include "server/jobs/sqlite_connection.h"

namespace qb::server {

// The version that this program writes.
int CurrentSchemaVersion();

// Brings an empty or older database to `version` (tests make old files that way), one transaction a
// step. Errors: FailedPrecondition when the file is of another program or of a newer version than
// this program knows.
absl::Status MigrateSchema(SqliteConnection& db, int version = CurrentSchemaVersion());

}  // namespace qb::server

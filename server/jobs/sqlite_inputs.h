// Which files the work of jobs reads, as rows, so that none of them is removed meanwhile.
//
// A manifest's files are a set; equal sets of a tenant are one, so a calibration set that a hundred
// jobs use is written down once. A blob that a set names has a blob_ref for as long as the set is
// there.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "proto/qbc/v1/job.pb.h"
#include "server/jobs/sqlite_connection.h"

namespace qb::server {

// Whose work it is.
struct WorkOwner {
  int64_t execution = 0;
  absl::string_view tenant;
};

// Notes the files of `spec`. Errors: FailedPrecondition "MISSING_BLOB" when the tenant does not have
// one of them.
absl::Status AddInputs(SqliteConnection& db, const WorkOwner& owner, const qbc::v1::JobSpec& spec);
// The work needs them no longer; those that nothing else needs are unused since `now_ms`.
absl::Status DropInputs(SqliteConnection& db, const WorkOwner& owner, int64_t now_ms);
// AddInputs for all the work that a database had before it knew inputs; files that are gone are left
// out.
absl::Status BackfillInputs(SqliteConnection& db);

}  // namespace qb::server

// A copy of a server's data folder that is one itself, made while the server runs.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace qb::server {

struct BackupFigures {
  int64_t blobs = 0;         // of the database
  int64_t copied_blobs = 0;  // the others were there from an earlier backup
  int64_t copied_bytes = 0;  // of blobs
  int64_t logs = 0;          // files that were copied
};

// Makes `output` a data folder with everything that `data_dir` held at one moment: jobs, results,
// inputs, logs and credentials. Partial uploads are left out. `output` is a folder that is not
// there yet, an empty one, or one of an earlier backup, of which files that are the same are kept:
// at every moment it is the earlier backup or the new one. Each blob's digest is checked as it is
// copied.
// Errors: FailedPrecondition when `output` is something else or in use; DataLoss for a blob that is
// missing or has other bytes; those of files.
absl::StatusOr<BackupFigures> BackUpDataFolder(const std::string& data_dir,
                                               const std::string& output);

}  // namespace qb::server

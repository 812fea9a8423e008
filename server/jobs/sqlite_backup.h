// Copies of the database for a backup.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace qb::server {

// Copies the database at `from`, which a server may be using, into a new file at `to`, checks the
// copy's pages, and makes it ready to be served: its fences are beyond all that the original can
// give out until somebody notices, so that reports of workers to both are never mixed up, and
// uploads under way are left out. Synced. Errors: FailedPrecondition for a file of another program
// or version; DataLoss when the copy is damaged; those of files.
absl::Status BackUpDatabase(const std::string& from, const std::string& to);

// Every stored blob of a database that nobody else uses. An error of `on_blob` ends it.
absl::Status ForEachBlob(
    const std::string& path,
    absl::FunctionRef<absl::Status(absl::string_view sha256, int64_t size_bytes)> on_blob);

}  // namespace qb::server

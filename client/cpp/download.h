// Getting a result from the server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "client/cpp/connection.h"
#include "proto/qbc/v1/job.pb.h"

namespace qb::client {

// Called with the bytes that are here and the size of the whole.
using DownloadListener = std::function<void(int64_t done_bytes, int64_t total_bytes)>;

// Fetches the artifact's blob to `path`: written to a temporary file in the same folder, checked
// against size and SHA-256, then renamed. The artifact's name plays no part: a server cannot choose
// where the client writes. A stream that breaks off goes on where it stopped.
//
// Errors: those of the server; DataLoss when the bytes are not those that the digest names;
// Internal when the file cannot be written. `path` is untouched after an error.
absl::Status DownloadArtifact(Connection& connection, const qbc::v1::Artifact& artifact,
                              const std::string& path, const DownloadListener& listener);

// The same for a blob whose size the caller does not know.
absl::Status DownloadBlob(Connection& connection, const std::string& sha256,
                          const std::string& path);

}  // namespace qb::client

// Getting local files onto the server.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "client/cpp/connection.h"
#include "client/cpp/manifest.h"

namespace qb::client {

struct UploadProgress {
  int64_t done_bytes = 0;
  int64_t total_bytes = 0;  // of the blobs that were missing
  int64_t done_blobs = 0;
  int64_t total_blobs = 0;
};

// Called from several threads, one call at a time.
using UploadListener = std::function<void(const UploadProgress&)>;

// Stores every blob that the server misses; equal blobs once. An upload that breaks off goes on
// where the server says it stopped, also one of an earlier process.
//
// Errors: those of the server; FailedPrecondition when a file changed after it was hashed;
// Cancelled on interruption.
absl::Status UploadMissing(Connection& connection, absl::Span<const LocalBlob* const> blobs,
                           const UploadListener& listener);

}  // namespace qb::client

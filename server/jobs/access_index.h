// Who else may reach what a tenant owns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "server/jobs/job_store.h"

namespace qb::server {

// Thread-safe. Calls wait for the disk. NotFound never tells whether the thing exists for others.
class AccessIndex {
 public:
  virtual ~AccessIndex() = default;

  // Lets `reader` read a job of `owner`, or no longer. Idempotent. Returns all readers, sorted.
  // Errors: NotFound; ResourceExhausted beyond 100 readers; InvalidArgument for the owner itself.
  virtual absl::StatusOr<std::vector<std::string>> SetShare(absl::string_view owner,
                                                            absl::string_view job_id,
                                                            absl::string_view reader, bool shared,
                                                            int64_t now_ms) = 0;
  // Keeps a job beyond its time, or no longer. Idempotent. Errors: NotFound.
  virtual absl::Status SetPinned(absl::string_view owner, absl::string_view job_id,
                                 bool pinned) = 0;
  // The tenant that shares this job with `reader`. Errors: NotFound.
  virtual absl::StatusOr<std::string> FindSharer(absl::string_view reader,
                                                 absl::string_view job_id) = 0;
  // A tenant that shares a job with `reader` whose result has this blob. Errors: NotFound.
  virtual absl::StatusOr<std::string> FindBlobSharer(absl::string_view reader,
                                                     absl::string_view sha256) = 0;
  // The tenant of a live attempt. Errors: FailedPrecondition "STALE_ATTEMPT".
  virtual absl::StatusOr<std::string> TenantOfAttempt(const AttemptKey& key) = 0;
};

}  // namespace qb::server

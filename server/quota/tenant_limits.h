// How much each tenant may have and do: defaults, and a file of the operator that a running server
// follows.
//
//   {"default": {"submits_per_second": 50},
//    "tenants": {"team-a": {"max_stored_bytes": 1099511627776, "max_running_jobs": 4}}}
//
// What "default" leaves out is the server's own default, what a tenant leaves out is the file's.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace qb::server {

// 0 always means: no limit.
struct TenantLimits {
  int64_t max_queued_jobs = 10'000;     // waiting ones
  int64_t max_running_jobs = 0;         // compiles at a time, on all workers together
  int64_t max_stored_bytes = 0;         // of stored files and of uploads under way
  int64_t max_parallel_uploads = 0;     // streams of clients
  int64_t max_open_streams = 0;         // of events, of jobs and of logs
  double submits_per_second = 0;        // in the long run
  int64_t submit_burst = 0;             // at once; 0: ten seconds' worth
  int64_t upload_bytes_per_second = 0;  // in the long run
  int64_t upload_burst_bytes = 0;       // at once; 0: a minute's worth

  bool operator==(const TenantLimits&) const = default;
};

// Where strangers share a server: 10 000 waiting jobs, 100 GiB, 8 uploads, 200 streams, 50 submits
// a second and 500 at once.
TenantLimits SharedServerLimits();

// All tenants' limits at one moment.
struct LimitTable {
  TenantLimits fallback;  // of tenants that are not in `tenants`
  std::map<std::string, TenantLimits> tenants;
};

// Errors: InvalidArgument with what is wrong and what is accepted.
absl::StatusOr<LimitTable> ParseLimits(absl::string_view text, const TenantLimits& defaults);

// Thread-safe.
class LimitBook {
 public:
  // Without a file: the same limits for everybody.
  explicit LimitBook(const TenantLimits& defaults) : defaults_(defaults), table_{defaults, {}} {}
  // Errors: NotFound; InvalidArgument with the path and what is wrong.
  static absl::StatusOr<std::unique_ptr<LimitBook>> Create(std::string path,
                                                           const TenantLimits& defaults);

  TenantLimits For(absl::string_view tenant) const;

  // Reads the file again when it has changed; true: there are other limits now. An unreadable file
  // is an error and leaves what was known. Cheap when nothing has changed.
  absl::StatusOr<bool> Refresh();

 private:
  struct Stamp {
    ino_t inode = 0;
    off_t size = 0;
    timespec changed = {};
    bool operator==(const Stamp& other) const {
      return inode == other.inode && size == other.size && changed.tv_sec == other.changed.tv_sec &&
             changed.tv_nsec == other.changed.tv_nsec;
    }
  };

  const TenantLimits defaults_;
  std::string path_;  // "": no file
  mutable absl::Mutex mutex_;
  Stamp stamp_ ABSL_GUARDED_BY(mutex_);
  LimitTable table_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server

// From what a caller shows to who it is.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

#include "server/auth/credential_file.h"
#include "server/runtime/clock.h"

namespace qb::server {

// What came with a call.
struct Presented {
  absl::string_view authorization;                   // the header: "Bearer qbt_..."; "": none
  std::vector<absl::string_view> certificate_names;  // of a certificate that TLS has verified
};

// Thread-safe. Knows the credentials of a file and follows its changes.
class Authenticator {
 public:
  // Errors: those of ReadCredentialFile. `clock` outlives it.
  static absl::StatusOr<std::unique_ptr<Authenticator>> Create(std::string path,
                                                               const Clock& clock);

  // A token counts before a certificate. Errors: Unauthenticated, the same for whatever is wrong
  // with a secret, so that nothing can be learned from it.
  absl::StatusOr<Caller> Authenticate(const Presented& presented) const;

  // Whether what was good when a stream began is still good. True for callers without a credential.
  bool StillGood(const Caller& caller) const;

  // Reads the file again when it has changed; cheap when it has not. An unreadable file is an error
  // and leaves what was known. To be called about once a second.
  absl::Status Refresh();

 private:
  // Tells one state of the file from another.
  struct Stamp {
    ino_t inode = 0;
    timespec changed = {};
    off_t size = 0;
    bool operator==(const Stamp& other) const {
      return inode == other.inode && size == other.size && changed.tv_sec == other.changed.tv_sec &&
             changed.tv_nsec == other.changed.tv_nsec;
    }
  };

  Authenticator(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}
  Stamp StampOfFile() const;
  bool IsLive(const Credential& credential) const;
  const Credential* FindToken(absl::string_view authorization) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  Stamp stamp_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Credential> by_id_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::string> id_by_certificate_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server

// Who is signed in from a browser.
//
// A browser cannot add a header to the requests of its event streams, frames and downloads, only a
// cookie. The cookie holds a random number that means something to this process alone, never the
// token: other programs on this machine that the browser visits get it as well, because cookies
// know no ports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

#include "server/auth/authorize.h"
#include "server/http/http_message.h"
#include "server/runtime/clock.h"

namespace qb::server {

struct SessionLimits {
  int64_t lifetime_ms = int64_t{12} * 3'600'000;  // from signing in
  size_t most = 1024;                             // one more ends the oldest
};

// Thread-safe.
class Sessions {
 public:
  // `clock` outlives it.
  explicit Sessions(const Clock& clock, SessionLimits limits = {})
      : clock_(clock), limits_(limits) {}

  // Begins a session in the place of the one that the request may have. Returns the header
  // Set-Cookie: HttpOnly, SameSite=Strict, gone with the browser.
  std::string Open(const HttpRequest& request, Caller caller);
  // Ends the session of the request, if there is one. Returns the header Set-Cookie.
  std::string Close(const HttpRequest& request);
  // Whose session the cookie of a request names. Nothing for requests that another site, or
  // another port of this machine, made the browser send.
  std::optional<Caller> Find(const HttpRequest& request) const;

 private:
  struct Session {
    Caller caller;
    int64_t opened_ms = 0;  // monotonic
  };
  void RemoveOld(int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const SessionLimits limits_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Session> by_id_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server

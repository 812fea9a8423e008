#include "server/quota/overload.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

#include "server/quota/refusal.h"

namespace qb::server {

absl::Status OverloadGuard::Check(absl::Duration left) {
  absl::Duration delay;
  for (const Delay& queue : queues_) {
    delay += queue();
  }
  if (delay <= options_.max_delay && delay < left) {
    return absl::OkStatus();
  }
  double jitter = 0;
  {
    absl::MutexLock lock(&mutex_);
    jitter = std::uniform_real_distribution<double>(1.0, 1.5)(random_);
  }
  const std::string why =
      delay > options_.max_delay
          ? absl::StrCat("the limit is ", absl::FormatDuration(options_.max_delay))
          : std::string("the call's deadline is nearer than that");
  return WithRetryAfter(
      absl::UnavailableError(absl::StrCat(
          "OVERLOADED: the server is ", absl::ToInt64Milliseconds(delay),
          " ms behind and takes no more jobs at the moment: ", why, "; try again")),
      std::max(delay, absl::Milliseconds(100)) * jitter);
}

}  // namespace qb::server

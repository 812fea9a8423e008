// How a step of setting up a sandbox fails.
#pragma once

#include <cerrno>
#include <optional>
#include <string>

namespace qb::sandbox {

struct Failure {
  int error = 0;     // errno
  std::string step;  // what was tried
};

// Nothing: it worked.
using Outcome = std::optional<Failure>;

// The failure of the system call just made, if `failed`.
inline Outcome FailedIf(bool failed, const std::string& step) {
  return failed ? Outcome(Failure{errno, step}) : std::nullopt;
}

}  // namespace qb::sandbox

#define QB_SANDBOX_TRY(expr)                                                  \
  do {                                                                        \
    if (::qb::sandbox::Outcome qb_outcome = (expr); qb_outcome.has_value()) { \
      return qb_outcome;                                                      \
    }                                                                         \
  } while (false)

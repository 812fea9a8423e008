// QB_CHECK: for what only a bug of ours can cause. What a user can cause is an absl::Status.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"

namespace qb {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const std::string& detail);
}  // namespace qb

#define QB_CHECK(condition)                                       \
  do {                                                            \
    if (!(condition)) {                                           \
      ::qb::CheckFailed(__FILE__, __LINE__, #condition, "");      \
    }                                                             \
  } while (false)

// `QB_CHECK_MSG(a == b, "node ", name)`: the further arguments go through absl::StrCat.
#define QB_CHECK_MSG(condition, ...)                                                   \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      ::qb::CheckFailed(__FILE__, __LINE__, #condition, ::absl::StrCat(__VA_ARGS__));  \
    }                                                                                  \
  } while (false)

#include "core/base/secret_file.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

constexpr int64_t kMaxBytes = 16 << 10;

}  // namespace

absl::StatusOr<std::string> ReadSecretFile(const std::string& path) {
  QB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxBytes));
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 || (info.st_mode & 0077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path, "' may be read by others: chmod 600 it"));
  }
  std::string secret(absl::StripAsciiWhitespace(text));
  const bool visible = std::all_of(secret.begin(), secret.end(),
                                   [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (secret.empty() || !visible) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "': expected one line of visible ASCII characters"));
  }
  return secret;
}

}  // namespace qb

// Secrets that lie in files: the only way they come into a program, besides its environment.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace qb {

// The text of a small file without white space at its ends. Errors: those of ReadFile;
// FailedPrecondition when group or others may read it; InvalidArgument when it is empty, or is not
// one line of visible ASCII. No error shows what is in the file.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path);

}  // namespace qb

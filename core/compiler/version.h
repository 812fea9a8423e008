// Which compiler this is.
#pragma once

#include "absl/strings/string_view.h"

namespace qb {

// "0.1.0"
absl::string_view CompilerVersion();
// Twelve digits of the git commit it was built from, "unknown" outside a checkout.
absl::string_view CompilerCommit();

}  // namespace qb

// The data files of the targets, as they were when the compiler was built.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"

namespace qb {

// JSON, one text a file of core/target/data, in the order of the documentation.
std::vector<absl::string_view> TargetDataTexts();

}  // namespace qb

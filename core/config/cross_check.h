// Settings that are each accepted but do not go together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

#include "core/base/json.h"

namespace qb {

// Appends one sentence a problem: "path: what was found; what is accepted". `get` gives the value
// of any field of the schema, checked on its own.
void CheckFieldsTogether(const std::function<const Json&(absl::string_view path)>& get,
                         std::vector<std::string>& problems);

}  // namespace qb

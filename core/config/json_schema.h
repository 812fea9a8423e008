// The config as JSON Schema (draft 2020-12) and as a page of documentation, both from the field
// table.
#pragma once

#include <string>

#include "core/base/json.h"

namespace qb {

// Describes files in the camelCase spelling, grouped or flat.
Json ConfigJsonSchema();

// docs/reference/compile-config.md
std::string ConfigReferencePage();

}  // namespace qb

// The tree of a settings file as (path, value) pairs of the field table.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"

namespace qb {

// In the order of the file; paths are camelCase and flat.
using FlatValues = std::vector<std::pair<std::string, Json>>;

// Problems that are told of one config: a reader mends the first ones first, and a hostile file
// cannot ask for endless work.
inline constexpr size_t kMostConfigProblems = 50;

// Reads both spellings of names (camelCase, snake_case) and of groups (grouped, flat). Appends one
// sentence a problem: "path: what was found; what is accepted". Fields with a problem are left out
// of the result. Stops at kMostConfigProblems.
FlatValues FlattenConfig(const Json& root, std::vector<std::string>& problems);

}  // namespace qb

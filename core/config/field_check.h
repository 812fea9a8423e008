// Whether a value is one that a field takes.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/config/schema.h"

namespace qb {

// "an integer", "true or false", ...: what the field takes, for messages and the reference page.
std::string AcceptedText(const FieldDef& field);

// Appends one sentence a problem.
void CheckField(const FieldDef& field, const Json& value, std::vector<std::string>& problems);

}  // namespace qb

// Whether a value is one that a field takes.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

#include "core/base/json.h"
#include "core/config/schema.h"

namespace qb {

// "an integer", "true or false", ...: what the field takes, for messages and the reference page.
std::string AcceptedText(const FieldDef& field);

// A value or key as a message shows it: control characters escaped, long text cut.
std::string ShownValue(const Json& value);
std::string ShownKey(absl::string_view key);

// Equal settings become equal values: 1 of a number field is 1.0. Precondition: CheckField passed.
Json CanonicalValue(const FieldDef& field, const Json& value);

// Appends one sentence a problem.
void CheckField(const FieldDef& field, const Json& value, std::vector<std::string>& problems);

}  // namespace qb

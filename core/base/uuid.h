// UUIDs of version 7: unique names that sort by the time they were made.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace qb {

// A UUIDv7 (RFC 9562, 5.7) for `unix_ms` with 74 random bits from the system, lower case, 36
// characters. Thread-safe.
std::string MakeUuidV7(int64_t unix_ms);
// The same for the present time.
std::string MakeUuidV7();

// True for 36 characters in the form 8-4-4-4-12 of lower-case hex digits, of any version.
bool IsUuid(absl::string_view text);

}  // namespace qb

// Text of a server, made safe for a terminal.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace qb::client {

// Control characters (C0 and C1), bytes that are not UTF-8, and the characters that change the
// direction of text become visible escapes: \x1b, \u202e. Newlines stay; tabs become spaces.
std::string Printable(absl::string_view text);

// Like Printable, for one line: newlines become a space.
std::string PrintableLine(absl::string_view text);

// "0 B", "999 B", "1.5 kB", "12 MB": decimal units, two significant digits.
std::string FormatBytes(int64_t bytes);

// "0.4 s", "12 s", "3:07", "1:02:03".
std::string FormatElapsed(absl::Duration duration);

}  // namespace qb::client

#include "client/cli/printable.h"

#include <cmath>
#include <cstddef>

#include "absl/strings/str_format.h"

namespace qb::client {
namespace {

// Decodes one UTF-8 character at the front of `text`. Returns its length, 0 when it is malformed.
size_t DecodeUtf8(absl::string_view text, uint32_t* code) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) {
    *code = first;
    return 1;
  }
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) {
    return 0;
  }
  *code = first & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
    *code = (*code << 6) | (byte(i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
  return *code < kSmallest[size] || surrogate || *code > 0x10ffff ? 0 : size;
}

bool IsHarmful(uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool direction = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                         (code >= 0x2066 && code <= 0x2069);
  return control || direction || code == 0x2028 || code == 0x2029;
}

std::string Escape(absl::string_view text, absl::string_view newline) {
  std::string result;
  while (!text.empty()) {
    uint32_t code = 0;
    const size_t size = DecodeUtf8(text, &code);
    if (size == 0) {
      absl::StrAppendFormat(&result, "\\x%02x", static_cast<uint8_t>(text.front()));
    } else if (code == '\n') {
      result.append(newline.data(), newline.size());
    } else if (code == '\t') {
      result += ' ';
    } else if (!IsHarmful(code)) {
      result.append(text.data(), size);
    } else if (code < 0x100) {
      absl::StrAppendFormat(&result, "\\x%02x", code);
    } else {
      absl::StrAppendFormat(&result, "\\u%04x", code);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return result;
}

}  // namespace

std::string Printable(absl::string_view text) { return Escape(text, "\n"); }

std::string PrintableLine(absl::string_view text) { return Escape(text, " "); }

std::string FormatBytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) {
    return absl::StrFormat("%d B", bytes);
  }
  return absl::StrFormat(value < 9.95 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
}

std::string FormatElapsed(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  if (seconds < 9.95) {
    return absl::StrFormat("%.1f s", seconds);
  }
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) {
    return absl::StrFormat("%d s", whole);
  }
  if (whole < 3600) {
    return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  }
  return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace qb::client

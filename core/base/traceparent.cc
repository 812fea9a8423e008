#include "core/base/traceparent.h"

#include <algorithm>
#include <cstddef>

namespace qb {
namespace {

constexpr size_t kLength = 55;
constexpr size_t kMaxLength = 512;

bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsId(absl::string_view text) {
  return IsHex(text) && std::any_of(text.begin(), text.end(), [](char c) { return c != '0'; });
}

bool IsVisible(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

bool IsTraceparent(absl::string_view text) {
  if (text.size() < kLength || text.size() > kMaxLength || text[2] != '-' || text[35] != '-' ||
      text[52] != '-') {
    return false;
  }
  const absl::string_view version = text.substr(0, 2);
  const bool known_length =
      version == "00" ? text.size() == kLength : text.size() == kLength || text[kLength] == '-';
  return known_length && IsHex(version) && version != "ff" && IsId(text.substr(3, 32)) &&
         IsId(text.substr(36, 16)) && IsHex(text.substr(53, 2)) && IsVisible(text.substr(kLength));
}

}  // namespace qb

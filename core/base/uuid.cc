#include "core/base/uuid.h"

#include <sys/random.h>

#include <array>
#include <chrono>
#include <cstddef>

#include "core/base/check.h"

namespace qb {

std::string MakeUuidV7(int64_t unix_ms) {
  std::array<uint8_t, 16> bytes;
  QB_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  for (int i = 0; i < 6; ++i) {
    bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(unix_ms >> (8 * (5 - i)));
  }
  bytes[6] = static_cast<uint8_t>(0x70 | (bytes[6] & 0x0f));  // version 7
  bytes[8] = static_cast<uint8_t>(0x80 | (bytes[8] & 0x3f));  // variant of the RFC
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      text.push_back('-');
    }
    text.push_back(kHex[bytes[i] >> 4]);
    text.push_back(kHex[bytes[i] & 0x0f]);
  }
  return text;
}

std::string MakeUuidV7() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return MakeUuidV7(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

bool IsUuid(absl::string_view text) {
  if (text.size() != 36) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool dash_place = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (dash_place ? c != '-' : !hex) {
      return false;
    }
  }
  return true;
}

}  // namespace qb

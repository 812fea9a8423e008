// Protobuf wire format by hand, for tests of the reader that knows no ONNX library.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace qb::client {

inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>((value & 0x7f) | 0x80);
  }
  bytes += static_cast<char>(value);
  return bytes;
}

// A length-delimited field.
inline std::string Delimited(uint64_t field, absl::string_view bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}

// A varint field.
inline std::string Number(uint64_t field, uint64_t value) {
  return Varint(field << 3) + Varint(value);
}

// A ModelProto with one initializer whose data is at `location`.
inline std::string ModelWithExternalData(absl::string_view location) {
  const std::string entry = Delimited(1, "location") + Delimited(2, location);
  const std::string tensor =
      Number(1, 4) + Delimited(8, "w") + Delimited(13, entry) + Number(14, 1);
  return Number(1, 8) + Delimited(7, Delimited(5, tensor));
}

}  // namespace qb::client

#include "core/dataset/images/exif.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/match.h"

namespace qb {
namespace {

// Reads unsigned integers at checked positions.
class TiffBytes {
 public:
  TiffBytes(absl::string_view bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  // 0 beyond the end.
  uint32_t At(size_t position, size_t size) const {
    if (position > bytes_.size() || bytes_.size() - position < size) {
      return 0;
    }
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t at = big_endian_ ? i : size - 1 - i;
      value = value << 8 | static_cast<uint8_t>(bytes_[position + at]);
    }
    return value;
  }

 private:
  absl::string_view bytes_;
  bool big_endian_;
};

}  // namespace

int ExifOrientation(absl::string_view segment) {
  constexpr absl::string_view kMarker("Exif\0\0", 6);
  constexpr uint32_t kOrientationTag = 0x0112;
  constexpr size_t kEntryBytes = 12;
  if (!absl::StartsWith(segment, kMarker)) {
    return 1;
  }
  const absl::string_view bytes = segment.substr(kMarker.size());
  const TiffBytes tiff(bytes, absl::StartsWith(bytes, "MM"));
  const size_t directory = tiff.At(4, 4);
  const size_t entries = tiff.At(directory, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (entry + kEntryBytes > bytes.size()) {
      return 1;
    }
    if (tiff.At(entry, 2) == kOrientationTag) {
      const uint32_t value = tiff.At(entry + 8, 2);
      return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
  }
  return 1;
}

}  // namespace qb

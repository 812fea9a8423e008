// Windows bitmaps without compression: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits.
//
// "BM" | file size u32 | 2 x u16 | offset of the pixels u32 | header size u32 | header | [masks] |
// palette | rows, each padded to 4 bytes, the lowest first unless the height is negative
#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/dataset/images/image.h"

namespace qb {
namespace {

constexpr size_t kFileHeader = 14;
constexpr uint32_t kOldHeader = 12;
constexpr uint32_t kInfoHeader = 40;
constexpr uint32_t kRaw = 0, kBitFields = 3, kAlphaBitFields = 6;

struct Header {
  int64_t width = 0, height = 0;
  bool top_down = false;
  int64_t bits = 0;
  size_t pixels_at = 0;
  // Of 16 and 32 bits: where red, green and blue lie in a pixel.
  std::array<uint32_t, 3> masks{};
  std::vector<std::array<uint8_t, 3>> palette;  // RGB

  size_t row_bytes() const { return static_cast<size_t>((width * bits + 31) / 32 * 4); }
};

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("damaged or unknown BMP: ", what));
}

class Cursor {
 public:
  explicit Cursor(absl::string_view bytes) : bytes_(bytes) {}
  // Little endian; 0 beyond the end, which the sizes checked later exclude.
  uint32_t At(size_t position, size_t size) const {
    uint32_t value = 0;
    for (size_t i = size; i-- > 0;) {
      const size_t at = position + i;
      value = value << 8 | (at < bytes_.size() ? static_cast<uint8_t>(bytes_[at]) : 0u);
    }
    return value;
  }

 private:
  absl::string_view bytes_;
};

absl::Status ReadMasks(const Cursor& cursor, uint32_t compression, Header& header) {
  if (header.bits != 16 && header.bits != 32) {
    return absl::OkStatus();
  }
  if (compression == kRaw) {
    header.masks = header.bits == 16 ? std::array<uint32_t, 3>{0x7c00, 0x3e0, 0x1f}
                                     : std::array<uint32_t, 3>{0xff0000, 0xff00, 0xff};
    return absl::OkStatus();
  }
  for (size_t c = 0; c < 3; ++c) {
    const uint32_t mask = cursor.At(kFileHeader + kInfoHeader + 4 * c, 4);
    // One run of 1 to 8 bits.
    const uint32_t run = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    if (run == 0 || (run & (run + 1)) != 0 || run > 0xff) {
      return Bad(absl::StrCat("the colour mask 0x", absl::Hex(mask)));
    }
    header.masks[c] = mask;
  }
  return absl::OkStatus();
}

absl::Status ReadPalette(const Cursor& cursor, uint32_t header_size, Header& header) {
  if (header.bits > 8) {
    return absl::OkStatus();
  }
  const size_t entry = header_size == kOldHeader ? 3 : 4;
  const size_t most = size_t{1} << header.bits;
  const size_t used = header_size == kOldHeader ? 0 : cursor.At(kFileHeader + 32, 4);
  const size_t count = used == 0 ? most : used;
  const size_t at = kFileHeader + header_size;
  if (count > most || at + count * entry > header.pixels_at) {
    return Bad(absl::StrCat("a palette of ", count, " colours for ", header.bits, " bits"));
  }
  for (size_t i = 0; i < count; ++i) {
    const auto channel = [&](size_t c) {
      return static_cast<uint8_t>(cursor.At(at + i * entry + c, 1));
    };
    header.palette.push_back({channel(2), channel(1), channel(0)});
  }
  return absl::OkStatus();
}

// Size and depth; returns the compression.
uint32_t ReadFields(const Cursor& cursor, uint32_t header_size, Header& header) {
  header.pixels_at = cursor.At(10, 4);
  if (header_size == kOldHeader) {
    header.width = cursor.At(18, 2);
    header.height = cursor.At(20, 2);
    header.bits = cursor.At(24, 2);
    return kRaw;
  }
  header.width = static_cast<int32_t>(cursor.At(18, 4));
  header.height = static_cast<int32_t>(cursor.At(22, 4));
  header.bits = cursor.At(28, 2);
  header.top_down = header.height < 0;
  header.height = header.top_down ? -header.height : header.height;
  return cursor.At(30, 4);
}

absl::Status CheckEncoding(uint32_t compression, int64_t bits) {
  const bool fields =
      (compression == kBitFields || compression == kAlphaBitFields) && (bits == 16 || bits == 32);
  if (compression != kRaw && !fields) {
    return Bad(absl::StrCat("compression ", compression, "; bitmaps without compression are read"));
  }
  constexpr auto kDepths = std::to_array<int64_t>({1, 4, 8, 16, 24, 32});
  if (std::find(kDepths.begin(), kDepths.end(), bits) == kDepths.end()) {
    return Bad(absl::StrCat(bits, " bits a pixel"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Header> ReadHeader(absl::string_view bytes) {
  const Cursor cursor(bytes);
  const uint32_t size = cursor.At(kFileHeader, 4);
  if (bytes.size() < kFileHeader + kOldHeader ||
      (size != kOldHeader && (size < kInfoHeader || size > 256)) ||
      bytes.size() < kFileHeader + size) {
    return Bad(absl::StrCat("a header of ", size, " bytes in ", bytes.size()));
  }
  Header header;
  const uint32_t compression = ReadFields(cursor, size, header);
  QB_RETURN_IF_ERROR(CheckImageSize(header.height, header.width));
  QB_RETURN_IF_ERROR(CheckEncoding(compression, header.bits));
  QB_RETURN_IF_ERROR(ReadMasks(cursor, compression, header));
  QB_RETURN_IF_ERROR(ReadPalette(cursor, size, header));
  const size_t wanted = header.row_bytes() * static_cast<size_t>(header.height);
  if (header.pixels_at < kFileHeader + size || header.pixels_at > bytes.size() ||
      bytes.size() - header.pixels_at < wanted) {
    return Bad(absl::StrCat("the file is cut off: ", wanted, " bytes of pixels at ",
                            header.pixels_at, " in a file of ", bytes.size()));
  }
  return header;
}

// A field of a pixel widened to 8 bits, cut off as Pillow does.
uint8_t Field(uint32_t pixel, uint32_t mask) {
  const int shift = std::countr_zero(mask);
  const uint32_t most = mask >> shift;
  return static_cast<uint8_t>(((pixel & mask) >> shift) * 255 / most);
}

// Errors: a pixel that names no colour of the palette.
absl::Status ReadRow(const Header& header, absl::string_view row, uint8_t* out) {
  const Cursor cursor(row);
  for (int64_t x = 0; x < header.width; ++x, out += 3) {
    const size_t bit = static_cast<size_t>(x * header.bits);
    if (header.bits <= 8) {
      const uint32_t byte = cursor.At(bit / 8, 1);
      const size_t shift = 8 - static_cast<size_t>(header.bits) - bit % 8;
      const size_t index = byte >> shift & ((1u << header.bits) - 1);
      if (index >= header.palette.size()) {
        return Bad(absl::StrCat("colour ", index, " of a palette of ", header.palette.size()));
      }
      std::copy_n(header.palette[index].data(), 3, out);
    } else if (header.bits == 24) {
      for (size_t c = 0; c < 3; ++c) {
        out[c] = static_cast<uint8_t>(row[bit / 8 + 2 - c]);
      }
    } else {
      const uint32_t pixel = cursor.At(bit / 8, static_cast<size_t>(header.bits / 8));
      for (size_t c = 0; c < 3; ++c) {
        out[c] = Field(pixel, header.masks[c]);
      }
    }
  }
  return absl::OkStatus();
}

bool IsGrey(const Header& header) {
  return !header.palette.empty() &&
         std::all_of(header.palette.begin(), header.palette.end(), [](const auto& colour) {
           return colour[0] == colour[1] && colour[1] == colour[2];
         });
}

}  // namespace

absl::StatusOr<Image> DecodeBmp(absl::string_view bytes) {
  QB_ASSIGN_OR_RETURN(const Header header, ReadHeader(bytes));
  Tensor pixels = Tensor::Allocate({DType::kUint8, Shape{header.height, header.width, 3}});
  for (int64_t y = 0; y < header.height; ++y) {
    const int64_t stored = header.top_down ? y : header.height - 1 - y;
    const absl::string_view row = bytes.substr(
        header.pixels_at + static_cast<size_t>(stored) * header.row_bytes(), header.row_bytes());
    QB_RETURN_IF_ERROR(ReadRow(header, row, pixels.mutable_data<uint8_t>() + y * header.width * 3));
  }
  // The grey weights add up to 65536: of equal channels they give that channel.
  return Image{IsGrey(header) ? WithImageChannels(pixels, 1) : pixels, 1};
}

}  // namespace qb

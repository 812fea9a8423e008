// PNG through libpng. Palettes become RGB, 1, 2 and 4 bits become 8, of 16 bits the upper 8 are
// kept, and transparency becomes an alpha channel. Gamma and colour profiles are left alone, as
// Pillow does. Errors come by a jump: see jpeg.cc.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/dataset/images/image.h"

namespace qb {
namespace {

constexpr png_uint_32 kMostChunks = 128;
constexpr png_alloc_size_t kMostChunkBytes = 8u << 20;

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const char* bytes = nullptr;
  size_t size = 0;
  size_t position = 0;
  char message[256] = "";

  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void OnError(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof(reader->message), "%s", message);
  png_longjmp(png, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void ReadBytes(png_structp png, png_bytep target, size_t count) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (reader->size - reader->position < count) {
    png_error(png, "the file is cut off");
  }
  std::memcpy(target, reader->bytes + reader->position, count);
  reader->position += count;
}

// False: reader.message says why.
bool ReadHeader(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) {
    return false;
  }
  png_set_read_fn(reader.png, &reader, ReadBytes);
  png_set_user_limits(reader.png, 0x7fffffff, 0x7fffffff);  // CheckImageSize says it better
  png_set_chunk_cache_max(reader.png, kMostChunks);
  png_set_chunk_malloc_max(reader.png, kMostChunkBytes);
  png_read_info(reader.png, reader.info);
  return true;
}

bool SetConversions(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) {
    return false;
  }
  png_set_expand(reader.png);
  png_set_strip_16(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool ReadPixels(Reader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) {
    return false;
  }
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

absl::Status Damaged(const Reader& reader) {
  return absl::InvalidArgumentError(absl::StrCat("damaged PNG: ", reader.message));
}

}  // namespace

absl::StatusOr<Image> DecodePng(absl::string_view bytes) {
  const auto reader = std::make_unique<Reader>();
  reader->bytes = bytes.data();
  reader->size = bytes.size();
  reader->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reader.get(), OnError, OnWarning);
  reader->info = reader->png == nullptr ? nullptr : png_create_info_struct(reader->png);
  if (reader->info == nullptr) {
    return absl::ResourceExhaustedError("no memory for a PNG");
  }
  if (!ReadHeader(*reader)) {
    return Damaged(*reader);
  }
  const int64_t height = png_get_image_height(reader->png, reader->info);
  const int64_t width = png_get_image_width(reader->png, reader->info);
  QB_RETURN_IF_ERROR(CheckImageSize(height, width));
  if (!SetConversions(*reader)) {
    return Damaged(*reader);
  }
  const int64_t channels = png_get_channels(reader->png, reader->info);
  const size_t row_bytes = png_get_rowbytes(reader->png, reader->info);
  if (row_bytes != static_cast<size_t>(width * channels)) {
    return absl::InvalidArgumentError("a PNG whose pixels have no 8 bits a channel");
  }
  Tensor pixels = Tensor::Allocate({DType::kUint8, Shape{height, width, channels}});
  std::vector<png_bytep> rows;
  rows.reserve(static_cast<size_t>(height));
  for (int64_t y = 0; y < height; ++y) {
    rows.push_back(pixels.mutable_data<uint8_t>() + static_cast<size_t>(y) * row_bytes);
  }
  if (!ReadPixels(*reader, rows.data())) {
    return Damaged(*reader);
  }
  if (reader->position != reader->size) {
    return absl::InvalidArgumentError(
        absl::StrCat("the PNG is followed by ", reader->size - reader->position, " other bytes"));
  }
  return Image{std::move(pixels), 1};
}

}  // namespace qb

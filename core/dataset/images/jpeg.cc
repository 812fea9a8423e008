// JPEG through libjpeg-turbo with its defaults, which are Pillow's: accurate inverse DCT, smooth
// chroma. The library reports errors by a jump: between setjmp and the library stand no objects
// with destructors.
// clang-format off
#include <cstdio>  // before jpeglib.h, which needs FILE and size_t
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <algorithm>
#include <array>
#include <csetjmp>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/dataset/images/exif.h"
#include "core/dataset/images/image.h"

namespace qb {
namespace {

// A progressive file may repeat its scans; each costs a pass over the image.
constexpr int kMostScans = 500;

struct Decoder {
  jpeg_error_mgr errors;  // first: libjpeg hands out a pointer to it
  jpeg_decompress_struct info;
  jpeg_progress_mgr progress;
  jmp_buf failed;
  char message[JMSG_LENGTH_MAX];
  int orientation;
};

Decoder* DecoderOf(j_common_ptr info) { return reinterpret_cast<Decoder*>(info->err); }

[[noreturn]] void Fail(j_common_ptr info) {
  info->err->format_message(info, DecoderOf(info)->message);
  std::longjmp(DecoderOf(info)->failed, 1);
}

// The library calls damaged image data a warning and makes pixels up. What does not touch pixels
// stays a warning.
void OnMessage(j_common_ptr info, int level) {
  if (level >= 0) {
    return;
  }
  constexpr auto kHarmless =
      std::to_array<int>({JWRN_EXTRANEOUS_DATA, JWRN_JFIF_MAJOR, JWRN_ADOBE_XFORM, JWRN_BOGUS_ICC});
  if (std::find(kHarmless.begin(), kHarmless.end(), info->err->msg_code) == kHarmless.end()) {
    Fail(info);
  }
}

void OnProgress(j_common_ptr info) {
  Decoder* decoder = DecoderOf(info);
  if (decoder->info.input_scan_number > kMostScans) {
    std::snprintf(decoder->message, sizeof(decoder->message), "more than %d scans", kMostScans);
    std::longjmp(decoder->failed, 1);
  }
}

void ReadOrientation(Decoder& decoder) {
  for (jpeg_saved_marker_ptr marker = decoder.info.marker_list; marker != nullptr;
       marker = marker->next) {
    const int orientation = ExifOrientation(
        absl::string_view(reinterpret_cast<const char*>(marker->data), marker->data_length));
    decoder.orientation = decoder.orientation == 1 ? orientation : decoder.orientation;
  }
}

// False: decoder.message says why.
bool ReadHeader(Decoder& decoder, const unsigned char* bytes, size_t size) {
  if (setjmp(decoder.failed) != 0) {
    return false;
  }
  jpeg_create_decompress(&decoder.info);
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info, bytes, size);
  jpeg_save_markers(&decoder.info, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&decoder.info, TRUE);
  ReadOrientation(decoder);
  if (decoder.info.num_components == 4) {
    decoder.info.out_color_space = JCS_CMYK;
  }
  jpeg_calc_output_dimensions(&decoder.info);
  return true;
}

bool ReadPixels(Decoder& decoder, uint8_t* pixels, size_t row_bytes) {
  if (setjmp(decoder.failed) != 0) {
    return false;
  }
  jpeg_start_decompress(&decoder.info);
  while (decoder.info.output_scanline < decoder.info.output_height) {
    JSAMPROW row = pixels + decoder.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder.info, &row, 1);
  }
  jpeg_finish_decompress(&decoder.info);
  return true;
}

// Ink as Adobe stores it, inverted, to RGB by Pillow's formula.
Tensor RgbOfInk(const Tensor& ink) {
  Tensor result = Tensor::Allocate({DType::kUint8, Shape{ink.shape()[0], ink.shape()[1], 3}});
  const uint8_t* in = ink.data<uint8_t>();
  uint8_t* out = result.mutable_data<uint8_t>();
  for (int64_t i = 0; i < ink.elements(); i += 4, in += 4, out += 3) {
    const int light = in[3];
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - in[c]) * light + 128;
      out[c] = static_cast<uint8_t>(std::max(0, light - (((product >> 8) + product) >> 8)));
    }
  }
  return result;
}

absl::Status Damaged(const Decoder& decoder) {
  return absl::InvalidArgumentError(absl::StrCat("damaged JPEG: ", decoder.message));
}

absl::StatusOr<Image> Decode(Decoder& decoder, absl::string_view bytes) {
  if (!ReadHeader(decoder, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size())) {
    return Damaged(decoder);
  }
  const int64_t height = decoder.info.output_height, width = decoder.info.output_width;
  const int64_t channels = decoder.info.out_color_components;
  QB_RETURN_IF_ERROR(CheckImageSize(height, width));
  if (channels != 1 && channels != 3 && channels != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("a JPEG of ", channels, " components; 1, 3 and 4 are read"));
  }
  Tensor pixels = Tensor::Allocate({DType::kUint8, Shape{height, width, channels}});
  if (!ReadPixels(decoder, pixels.mutable_data<uint8_t>(), static_cast<size_t>(width * channels))) {
    return Damaged(decoder);
  }
  return Image{channels == 4 ? RgbOfInk(pixels) : pixels, decoder.orientation};
}

// Where the archive's end record would be: a ZIP behind the image makes the file two things at
// once.
bool EndsAsArchive(absl::string_view bytes) {
  constexpr size_t kEndRecordReach = 22 + 65535;
  const size_t begin = bytes.size() > kEndRecordReach ? bytes.size() - kEndRecordReach : 0;
  const size_t at = bytes.substr(begin).rfind(absl::string_view("PK\x05\x06", 4));
  return at != absl::string_view::npos && bytes.size() - begin - at >= 22 &&
         absl::StrContains(bytes, absl::string_view("PK\x03\x04", 4));
}

}  // namespace

absl::StatusOr<Image> DecodeJpeg(absl::string_view bytes) {
  if (EndsAsArchive(bytes)) {
    return absl::InvalidArgumentError("the JPEG is followed by a ZIP archive");
  }
  const auto decoder = std::make_unique<Decoder>();
  decoder->orientation = 1;
  decoder->info.err = jpeg_std_error(&decoder->errors);
  decoder->errors.error_exit = Fail;
  decoder->errors.emit_message = OnMessage;
  decoder->progress.progress_monitor = OnProgress;
  absl::StatusOr<Image> image = Decode(*decoder, bytes);
  jpeg_destroy_decompress(&decoder->info);
  return image;
}

}  // namespace qb

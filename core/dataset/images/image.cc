#include "core/dataset/images/image.h"

#include <array>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"

namespace qb {
namespace {

struct FormatRow {
  ImageFormat format;
  absl::string_view name;
  absl::StatusOr<Image> (*decode)(absl::string_view bytes);
};

constexpr auto kFormats = std::to_array<FormatRow>({
    {ImageFormat::kJpeg, "JPEG", DecodeJpeg},
    {ImageFormat::kPng, "PNG", DecodePng},
    {ImageFormat::kBmp, "BMP", DecodeBmp},
    {ImageFormat::kWebp, "WebP", DecodeWebp},
});

constexpr int64_t kLongestSide = 65536;

const FormatRow& RowOf(ImageFormat format) {
  for (const FormatRow& row : kFormats) {
    if (row.format == format) {
      return row;
    }
  }
  QB_CHECK_MSG(false, "no such image format");
}

// ITU-R 601-2 in 16-bit fixed point.
uint8_t GreyOf(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

void ConvertPixel(const uint8_t* in, int64_t from, uint8_t* out, int64_t to) {
  const bool coloured = from >= 3;
  if (to == 1) {
    out[0] = coloured ? GreyOf(in) : in[0];
    return;
  }
  for (int c = 0; c < 3; ++c) {
    out[c] = coloured ? in[c] : in[0];
  }
  if (to == 4) {
    out[3] = from == 4 ? in[3] : from == 2 ? in[1] : 255;
  }
}

}  // namespace

absl::string_view ImageFormatName(ImageFormat format) { return RowOf(format).name; }

std::optional<ImageFormat> SniffImage(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "\xff\xd8\xff")) {
    return ImageFormat::kJpeg;
  }
  if (absl::StartsWith(bytes, absl::string_view("\x89PNG\r\n\x1a\n", 8))) {
    return ImageFormat::kPng;
  }
  if (absl::StartsWith(bytes, "BM")) {
    return ImageFormat::kBmp;
  }
  if (bytes.size() >= 12 && absl::StartsWith(bytes, "RIFF") && bytes.substr(8, 4) == "WEBP") {
    return ImageFormat::kWebp;
  }
  return std::nullopt;
}

std::optional<ImageFormat> ImageFormatOfPath(absl::string_view path) {
  constexpr std::pair<absl::string_view, ImageFormat> kExtensions[] = {
      {".jpg", ImageFormat::kJpeg}, {".jpeg", ImageFormat::kJpeg}, {".png", ImageFormat::kPng},
      {".bmp", ImageFormat::kBmp},  {".webp", ImageFormat::kWebp},
  };
  for (const auto& [extension, format] : kExtensions) {
    if (absl::EndsWithIgnoreCase(path, extension)) {
      return format;
    }
  }
  return std::nullopt;
}

absl::StatusOr<Image> DecodeImage(absl::string_view bytes) {
  const std::optional<ImageFormat> format = SniffImage(bytes);
  if (!format.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("found ", bytes.size(),
                     " bytes that begin like no image; JPEG, PNG, BMP and WebP are read"));
  }
  return RowOf(*format).decode(bytes);
}

absl::Status CheckImageSize(int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > kLongestSide || width > kLongestSide ||
      height * width > kMostImagePixels) {
    return absl::InvalidArgumentError(
        absl::StrCat("the image says it has ", width, " x ", height, " pixels; up to ",
                     kMostImagePixels, " in all and ", kLongestSide, " a side are read"));
  }
  return absl::OkStatus();
}

Tensor WithImageChannels(const Tensor& pixels, int64_t channels) {
  const int64_t from = pixels.shape()[2];
  const int64_t to = channels != 0 ? channels : from >= 3 ? 3 : 1;
  if (from == to) {
    return pixels;
  }
  const int64_t count = pixels.shape()[0] * pixels.shape()[1];
  Tensor result =
      Tensor::Allocate({DType::kUint8, Shape{pixels.shape()[0], pixels.shape()[1], to}});
  const uint8_t* in = pixels.data<uint8_t>();
  uint8_t* out = result.mutable_data<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    ConvertPixel(in + i * from, from, out + i * to, to);
  }
  return result;
}

}  // namespace qb

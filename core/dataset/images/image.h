// Image files as pixels: JPEG, PNG, BMP, WebP. The rules of README.md; every byte is hostile.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/ir/tensor.h"

namespace qb {

enum class ImageFormat { kJpeg, kPng, kBmp, kWebp };

// "JPEG", "PNG", ...
absl::string_view ImageFormatName(ImageFormat format);
// By its first bytes; nothing for other content.
std::optional<ImageFormat> SniffImage(absl::string_view bytes);
// By the extension of a path (".jpg", ".jpeg", ".png", ".bmp", ".webp" in either case).
std::optional<ImageFormat> ImageFormatOfPath(absl::string_view path);

// Larger images are refused before their pixels are allocated.
inline constexpr int64_t kMostImagePixels = int64_t{1} << 27;

struct Image {
  // uint8 [H, W, C]: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA.
  Tensor pixels;
  // The EXIF orientation of a JPEG, 1 to 8; 1 is upright. It is never applied: Pillow's Image.open
  // does not either.
  int orientation = 1;
};

// Errors: InvalidArgument saying what is wrong: no such format, damaged or cut off, larger than
// kMostImagePixels, an animation, a kind of pixel that is not read.
absl::StatusOr<Image> DecodeImage(absl::string_view bytes);

// The image with 1 (grey by Pillow's weights of RGB), 3 or 4 channels; 0 takes what the file has
// without its alpha channel (1 or 3). New alpha is 255, old alpha is dropped, never blended.
Tensor WithImageChannels(const Tensor& pixels, int64_t channels);

// Whether the file of an image is of acceptable size. Errors: InvalidArgument naming both numbers.
absl::Status CheckImageSize(int64_t height, int64_t width);

// One a format. Precondition: SniffImage gave this format. Errors: those of DecodeImage.
absl::StatusOr<Image> DecodeJpeg(absl::string_view bytes);
absl::StatusOr<Image> DecodePng(absl::string_view bytes);
absl::StatusOr<Image> DecodeBmp(absl::string_view bytes);
absl::StatusOr<Image> DecodeWebp(absl::string_view bytes);

}  // namespace qb

// WebP through libwebp: single images, lossy or lossless.
#include <webp/decode.h>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/dataset/images/image.h"

namespace qb {

absl::StatusOr<Image> DecodeWebp(absl::string_view bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK) {
    return absl::InvalidArgumentError("damaged WebP: its header cannot be read");
  }
  if (features.has_animation != 0) {
    return absl::InvalidArgumentError("an animated WebP; single images are read");
  }
  QB_RETURN_IF_ERROR(CheckImageSize(features.height, features.width));
  const int64_t channels = features.has_alpha != 0 ? 4 : 3;
  Tensor pixels =
      Tensor::Allocate({DType::kUint8, Shape{features.height, features.width, channels}});
  const auto decode = features.has_alpha != 0 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode(data, bytes.size(), pixels.mutable_data<uint8_t>(),
             static_cast<size_t>(pixels.size_bytes()),
             static_cast<int>(features.width * channels)) == nullptr) {
    return absl::InvalidArgumentError("damaged WebP: its pixels cannot be read or are cut off");
  }
  return Image{std::move(pixels), 1};
}

}  // namespace qb

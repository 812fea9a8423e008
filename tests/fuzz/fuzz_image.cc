// JPEG, PNG, BMP and WebP bytes from anywhere: pixels or an error, never anything else.
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/check.h"
#include "core/dataset/images/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Honest pictures of 100 megapixels would only slow the search down; CheckImageSize has tests.
  if (size > (size_t{1} << 16) || !qb::SniffImage(bytes).has_value()) {
    return 0;
  }
  const absl::StatusOr<qb::Image> image = qb::DecodeImage(bytes);
  if (image.ok()) {
    const qb::Shape& shape = image->pixels.shape();
    QB_CHECK(shape.rank() == 3 && image->orientation >= 1 && image->orientation <= 8);
    for (const int64_t channels : {1, 3, 4}) {
      QB_CHECK(qb::WithImageChannels(image->pixels, channels).shape()[2] == channels);
    }
  }
  return 0;
}

// Resizes images that come over stdin, for scripts that compare our pixels with those of the real
// libraries. Request: a line "BACKEND MODE H W C H2 W2 u8|f32 ALIGN ANTIALIAS", then the pixels.
// Answer: the resized pixels.
#include <cinttypes>
#include <cstdio>
#include <string>

#include "core/base/check.h"
#include "core/dataset/preprocess/resize.h"

namespace {

qb::Tensor Resize(const qb::Tensor& image, qb::ImageSize to, const std::string& backend,
                  const qb::TorchResizeOptions& options) {
  switch (*qb::ResizeBackendFromName(backend)) {
    case qb::ResizeBackend::kPil:
      return qb::PilResize(image, to, options.mode);
    case qb::ResizeBackend::kOpencv:
      return qb::OpencvResize(image, to, options.mode);
    case qb::ResizeBackend::kTorch:
      return qb::TorchResize(image, to, options);
  }
  return image;
}

}  // namespace

int main() {
  char backend[16], mode[16], dtype[16];
  int64_t h, w, c, h2, w2;
  int align, antialias;
  constexpr char kFormat[] =
      "%15s %15s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %15s %d %d";
  while (std::scanf(kFormat, backend, mode, &h, &w, &c, &h2, &w2, dtype, &align, &antialias) ==
         10) {
    std::getchar();
    qb::Tensor image = qb::Tensor::Allocate(
        {std::string(dtype) == "u8" ? qb::DType::kUint8 : qb::DType::kFloat32, qb::Shape{h, w, c}});
    const size_t bytes = static_cast<size_t>(image.size_bytes());
    QB_CHECK(std::fread(image.mutable_raw(), 1, bytes, stdin) == bytes);
    const qb::Tensor result = Resize(
        image, {h2, w2}, backend, {*qb::InterpolationFromName(mode), align != 0, antialias != 0});
    std::fwrite(result.raw(), 1, static_cast<size_t>(result.size_bytes()), stdout);
    std::fflush(stdout);
  }
  return 0;
}

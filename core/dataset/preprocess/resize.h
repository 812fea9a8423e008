// Image resizing that reproduces the pixels of Pillow, OpenCV and torch.
//
// Images are tensors [H, W, C] of uint8 or float32 with any number of channels C >= 1, and a result
// has the type and channels of its source. Sizes are at least 1.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

#include "core/ir/tensor.h"

namespace qb {

enum class Interpolation { kNearest, kBilinear, kBicubic, kArea, kLanczos };
enum class ResizeBackend { kTorch, kPil, kOpencv };

std::optional<Interpolation> InterpolationFromName(absl::string_view name);
std::optional<ResizeBackend> ResizeBackendFromName(absl::string_view name);

struct ImageSize {
  int64_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
};

// Image.resize of Pillow 9.4: bit for bit on uint8. Four channels are RGBA and are resized with
// premultiplied alpha, as Pillow does. float32 is Pillow's mode F, a channel at a time.
// Modes: nearest, bilinear, bicubic, lanczos.
Tensor PilResize(const Tensor& image, ImageSize to, Interpolation mode);

// cv2.resize of OpenCV 4.6 on x86-64 with 128-bit vectors (the generic build): bit for bit on
// uint8. Modes: all; lanczos is INTER_LANCZOS4.
Tensor OpencvResize(const Tensor& image, ImageSize to, Interpolation mode);

struct TorchResizeOptions {
  Interpolation mode = Interpolation::kBilinear;  // nearest, bilinear, bicubic, area
  bool align_corners = false;                     // bilinear and bicubic only
  bool antialias = false;                         // the same
};
// torch.nn.functional.interpolate in float32. uint8 is converted, interpolated, rounded half to
// even and clamped, as torchvision's resize of tensors does.
Tensor TorchResize(const Tensor& image, ImageSize to, const TorchResizeOptions& options);

}  // namespace qb

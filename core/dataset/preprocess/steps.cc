// What each step computes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/dataset/images/image.h"
#include "core/dataset/preprocess/letterbox.h"
#include "core/dataset/preprocess/pipeline.h"

namespace qb {
namespace {

int64_t Height(const Tensor& image) { return image.shape()[0]; }
int64_t Width(const Tensor& image) { return image.shape()[1]; }
int64_t Channels(const Tensor& image) { return image.shape()[2]; }

Tensor Resized(const Tensor& image, ImageSize to, ResizeBackend backend,
               const TorchResizeOptions& options) {
  switch (backend) {
    case ResizeBackend::kPil:
      return PilResize(image, to, options.mode);
    case ResizeBackend::kOpencv:
      return OpencvResize(image, to, options.mode);
    case ResizeBackend::kTorch:
      break;
  }
  return TorchResize(image, to, options);
}

// Python's round: half to even.
int64_t RoundHalfToEven(double value) { return static_cast<int64_t>(std::nearbyint(value)); }

struct Box {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

// Precondition: the box lies within the image.
Tensor Cut(const Tensor& image, const Box& box) {
  Tensor result = Tensor::Allocate({image.dtype(), Shape{box.height, box.width, Channels(image)}});
  const size_t pixel = static_cast<size_t>(Channels(image) * SizeBytes(image.dtype()));
  const size_t row = pixel * static_cast<size_t>(box.width);
  const char* source = static_cast<const char*>(image.raw());
  char* target = static_cast<char*>(result.mutable_raw());
  for (int64_t y = 0; y < box.height; ++y) {
    const int64_t from = (box.top + y) * Width(image) + box.left;
    std::memcpy(target + static_cast<size_t>(y) * row, source + static_cast<size_t>(from) * pixel,
                row);
  }
  return result;
}

template <typename T>
void Fill(Tensor& image, double value) {
  std::fill_n(image.mutable_data<T>(), image.elements(), static_cast<T>(value));
}

absl::StatusOr<Tensor> Padded(const Tensor& image, const PadStep& pad) {
  const bool bytes = image.dtype() == DType::kUint8;
  if (bytes && (pad.value < 0 || pad.value > 255 || pad.value != std::floor(pad.value))) {
    return absl::InvalidArgumentError(
        absl::StrCat("padValue ", pad.value, " on uint8 pixels; an integer from 0 to 255 is one"));
  }
  const int64_t height = Height(image) + pad.top + pad.bottom;
  const int64_t width = Width(image) + pad.left + pad.right;
  QB_RETURN_IF_ERROR(CheckImageSize(height, width));
  Tensor result = Tensor::Allocate({image.dtype(), Shape{height, width, Channels(image)}});
  if (pad.value != 0) {
    bytes ? Fill<uint8_t>(result, pad.value) : Fill<float>(result, pad.value);
  }
  const size_t pixel = static_cast<size_t>(Channels(image) * SizeBytes(image.dtype()));
  const size_t row = pixel * static_cast<size_t>(Width(image));
  const char* source = static_cast<const char*>(image.raw());
  char* target = static_cast<char*>(result.mutable_raw());
  for (int64_t y = 0; y < Height(image); ++y) {
    const int64_t to = (pad.top + y) * width + pad.left;
    std::memcpy(target + static_cast<size_t>(to) * pixel, source + static_cast<size_t>(y) * row,
                row);
  }
  return result;
}

absl::StatusOr<Tensor> Apply(const ResizeStep& step, const Tensor& image) {
  ImageSize to{step.height, step.width};
  if (step.size > 0) {
    const int64_t shorter = std::min(Height(image), Width(image));
    const int64_t longer = std::max(Height(image), Width(image));
    // torchvision's rule: the long side is cut off to an integer.
    const int64_t long_side = static_cast<int64_t>(static_cast<double>(step.size * longer) /
                                                   static_cast<double>(shorter));
    to = Width(image) <= Height(image) ? ImageSize{long_side, step.size}
                                       : ImageSize{step.size, long_side};
  }
  QB_RETURN_IF_ERROR(CheckImageSize(to.height, to.width));
  return Resized(image, to, step.backend, step.options);
}

// torchvision's centre crop: a smaller image is first padded with 0, the odd pixel below and right.
absl::StatusOr<Tensor> Apply(const CenterCropStep& step, const Tensor& image) {
  const int64_t down = std::max<int64_t>(0, step.height - Height(image));
  const int64_t right = std::max<int64_t>(0, step.width - Width(image));
  Tensor source = image;
  if (down > 0 || right > 0) {
    QB_ASSIGN_OR_RETURN(source,
                        Padded(image, {down / 2, (down + 1) / 2, right / 2, (right + 1) / 2, 0}));
  }
  const int64_t top = RoundHalfToEven(static_cast<double>(Height(source) - step.height) / 2.0);
  const int64_t left = RoundHalfToEven(static_cast<double>(Width(source) - step.width) / 2.0);
  return Cut(source, {top, left, step.height, step.width});
}

absl::StatusOr<Tensor> Apply(const CropStep& step, const Tensor& image) {
  if (step.top + step.height > Height(image) || step.left + step.width > Width(image)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rows ", step.top, " to ", step.top + step.height, " and columns ", step.left, " to ",
        step.left + step.width, " of an image of ", Height(image), "x", Width(image)));
  }
  return Cut(image, {step.top, step.left, step.height, step.width});
}

absl::StatusOr<Tensor> Apply(const LetterboxStep& step, const Tensor& image) {
  const ImageSize size{Height(image), Width(image)};
  const LetterboxPlace place = PlaceInLetterbox(step, size);
  return Padded(Resized(image, place.inner, step.backend, {step.mode, false, false}),
                {place.top, place.bottom, place.left, place.right, step.pad_value});
}

absl::StatusOr<Tensor> Apply(const PadStep& step, const Tensor& image) {
  return Padded(image, step);
}

template <typename T>
Tensor Normalized(const NormalizeStep& step, const Tensor& image) {
  Tensor result = Tensor::Allocate({DType::kFloat32, image.shape()});
  const size_t channels = static_cast<size_t>(Channels(image));
  const T* in = image.data<T>();
  float* out = result.mutable_data<float>();
  // The order and precision of torchvision: to [0, 1], minus the mean, over the deviation.
  for (int64_t i = 0; i < image.elements(); i += Channels(image)) {
    for (size_t c = 0; c < channels; ++c) {
      const float value = static_cast<float>(*in++);
      const float unit = step.divide_by_255 ? value / 255.0f : value;
      *out++ = (unit - step.mean[c]) / step.deviation[c];
    }
  }
  return result;
}

absl::StatusOr<Tensor> Apply(const NormalizeStep& step, const Tensor& image) {
  if (step.mean.size() != static_cast<size_t>(Channels(image))) {
    return absl::InvalidArgumentError(absl::StrCat("mean has ", step.mean.size(),
                                                   " values, the image ", Channels(image),
                                                   " channels (imageChannels decides how many)"));
  }
  return image.dtype() == DType::kUint8 ? Normalized<uint8_t>(step, image)
                                        : Normalized<float>(step, image);
}

template <typename T>
Tensor Converted(const ColorConvertStep& step, const Tensor& image) {
  const bool from_grey = step.from == "GRAY", to_grey = step.to == "GRAY";
  const bool swap = !from_grey && !to_grey && step.from != step.to;
  const int64_t to = to_grey ? 1 : 3, from = Channels(image);
  Tensor result = Tensor::Allocate({image.dtype(), Shape{Height(image), Width(image), to}});
  const T* in = image.data<T>();
  T* out = result.mutable_data<T>();
  const int64_t red = step.from == "BGR" ? 2 : 0;
  for (int64_t i = 0; i < Height(image) * Width(image); ++i, in += from, out += to) {
    if (to_grey && !from_grey) {
      const T r = in[red], g = in[1], b = in[2 - red];
      if constexpr (sizeof(T) == 1) {
        *out = static_cast<T>((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
      } else {
        *out = r * 0.299f + g * 0.587f + b * 0.114f;
      }
      continue;
    }
    for (int64_t c = 0; c < to; ++c) {
      out[c] = in[from_grey ? 0 : swap ? 2 - c : c];
    }
  }
  return result;
}

absl::StatusOr<Tensor> Apply(const ColorConvertStep& step, const Tensor& image) {
  const int64_t wanted = step.from == "GRAY" ? 1 : 3;
  if (Channels(image) != wanted) {
    return absl::InvalidArgumentError(absl::StrCat("from ", step.from, " takes ", wanted,
                                                   " channels, the image has ", Channels(image)));
  }
  return image.dtype() == DType::kUint8 ? Converted<uint8_t>(step, image)
                                        : Converted<float>(step, image);
}

}  // namespace

absl::StatusOr<Tensor> ApplyStep(const PipelineStep& step, const Tensor& image) {
  return std::visit([&](const auto& typed) { return Apply(typed, image); }, step);
}

}  // namespace qb

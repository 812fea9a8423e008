// From an array of a file to the value of an input.
#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/dataset/images/image.h"
#include "core/dataset/sample_loader.h"

namespace qb {
namespace {

bool IsChannelCount(int64_t dim) { return dim == 1 || dim == 3 || dim == 4; }

// The channels that an input's shape speaks of, channels first before last; 0 when neither end of
// the shape can be channels.
int64_t ChannelsOfInput(const InputSpec& input) {
  const Shape& shape = input.type.shape;
  const int64_t rank = shape.rank();
  if (rank < 3) {
    return 0;
  }
  const int64_t first = shape[rank - 3], last = shape[rank - 1];
  return IsChannelCount(first) ? first : IsChannelCount(last) ? last : 0;
}

// How many channels an image gets: what imageChannels says, what the pipeline or the input needs
// with autoConvertFormat, else its own (0).
int64_t WantedChannels(const InputSpec& input, const InputPreparation& preparation,
                       int64_t image_channels) {
  if (image_channels != 0 || !preparation.auto_convert_format) {
    return image_channels;
  }
  for (const PipelineStep& step : preparation.pipeline.steps()) {
    if (const auto* convert = std::get_if<ColorConvertStep>(&step); convert != nullptr) {
      return convert->from == "GRAY" ? 1 : 3;
    }
  }
  return ChannelsOfInput(input);
}

Tensor ChannelsLast(const Tensor& chw) {
  const int64_t channels = chw.shape()[0], pixels = chw.shape()[1] * chw.shape()[2];
  Tensor result = Tensor::Allocate({chw.dtype(), Shape{chw.shape()[1], chw.shape()[2], channels}});
  const auto copy = [&](const auto* in, auto* out) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < pixels; ++i) {
        out[i * channels + c] = *in++;
      }
    }
  };
  if (chw.dtype() == DType::kUint8) {
    copy(chw.data<uint8_t>(), result.mutable_data<uint8_t>());
  } else {
    copy(chw.data<float>(), result.mutable_data<float>());
  }
  return result;
}

// Which of [C, H, W] and [H, W, C] an array of three axes is. Errors: both or neither fits.
absl::StatusOr<bool> IsChannelsFirst(const Tensor& array, bool auto_convert) {
  const Shape& shape = array.shape();
  const bool last = IsChannelCount(shape[2]), first = IsChannelCount(shape[0]);
  if (last && (!first || !auto_convert)) {
    return false;
  }
  if (first && last) {
    return absl::InvalidArgumentError(
        absl::StrCat("found ", array.type().ToString(), ", which can be read as CHW and as HWC"));
  }
  if (first && auto_convert) {
    return true;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("found ", array.type().ToString(), ", expected pixels HWC of 1, 3 or 4 channels",
                   first ? "; preprocessing.autoConvertFormat takes CHW too" : ""));
}

// Pixels that no step normalized, where the executable takes uint8.
Tensor DividedBy(const Tensor& pixels, double factor) {
  Tensor result = Tensor::Allocate({DType::kFloat32, pixels.shape()});
  const uint8_t* in = pixels.data<uint8_t>();
  const float divisor = static_cast<float>(factor);
  for (int64_t i = 0; i < pixels.elements(); ++i) {
    result.mutable_data<float>()[i] = static_cast<float>(in[i]) / divisor;
  }
  return result;
}

}  // namespace

absl::StatusOr<Tensor> ToPixels(const NamedArray& array, const InputPreparation& preparation,
                                int64_t channels, std::vector<SampleNote>& notes,
                                const std::string& input) {
  if (array.is_image) {
    return WithImageChannels(array.value, channels);
  }
  Tensor value = array.value;
  if (value.dtype() == DType::kBool) {
    return absl::InvalidArgumentError("found booleans, expected numbers for pixels");
  }
  if (value.dtype() != DType::kUint8 && value.dtype() != DType::kFloat32) {
    notes.push_back(
        {input, absl::StrCat(DTypeName(value.dtype()), " read as float32"), LogLevel::kInfo, true});
    value = AsFloat32(value);
  }
  const Shape& shape = array.value.shape();
  if (shape.rank() == 4 && shape[0] == 1) {
    value = value.Reshaped(Shape{shape[1], shape[2], shape[3]});
  } else if (shape.rank() == 2) {
    value = value.Reshaped(Shape{shape[0], shape[1], 1});
  } else if (shape.rank() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("found ", array.value.type().ToString(), ", expected pixels HWC"));
  }
  QB_ASSIGN_OR_RETURN(const bool first, IsChannelsFirst(value, preparation.auto_convert_format));
  const int64_t height = value.shape()[first ? 1 : 0], width = value.shape()[first ? 2 : 1];
  QB_RETURN_IF_ERROR(CheckImageSize(height, width));
  if (first) {
    notes.push_back({input, "CHW sample read as HWC", LogLevel::kInfo, true});
    value = ChannelsLast(value);
  }
  return value.dtype() == DType::kUint8 && channels != 0 ? WithImageChannels(value, channels)
                                                         : value;
}

absl::StatusOr<Tensor> PrepareInput(const NamedArray& array, const InputSpec& input,
                                    const InputPreparation& preparation, int64_t image_channels,
                                    std::vector<SampleNote>& notes) {
  if (array.orientation != 1) {
    notes.push_back(
        {input.name,
         absl::StrCat("EXIF orientation ", array.orientation,
                      " is not applied, as Pillow's Image.open does not; an application "
                      "that turns its images sees others"),
         LogLevel::kWarning});
  }
  const bool pixels = array.is_image || preparation.preprocess;
  Tensor value = array.value;
  if (pixels) {
    const int64_t channels = WantedChannels(input, preparation, image_channels);
    QB_ASSIGN_OR_RETURN(value, ToPixels(array, preparation, channels, notes, input.name));
    QB_ASSIGN_OR_RETURN(value, preparation.pipeline.Apply(std::move(value)));
  }
  if (value.dtype() == DType::kUint8 && preparation.uint8_factor > 0) {
    notes.push_back({input.name, absl::StrCat("uint8 values are divided by ",
                                              preparation.uint8_factor, " (uint8Input)")});
    value = DividedBy(value, preparation.uint8_factor);
  }
  QB_ASSIGN_OR_RETURN(const SampleReading reading,
                      pixels
                          ? ChoosePixelReading(value.type(), input, preparation.auto_convert_format)
                          : ChooseReading(value.type(), input));
  if (!reading.note.empty()) {
    notes.push_back({input.name, reading.note, LogLevel::kInfo, true});
  }
  return ApplyReading(value, reading, input);
}

}  // namespace qb

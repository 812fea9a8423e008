#include "core/dataset/preprocess/pipeline.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/dataset/preprocess/letterbox.h"

namespace qb {
namespace {

Interpolation ModeOf(const Json& step) {
  const std::optional<Interpolation> mode = InterpolationFromName(step["mode"].as_string());
  QB_CHECK_MSG(mode.has_value(), "resize mode '", step["mode"].as_string(), "'");
  return *mode;
}

ResizeBackend BackendOf(const Json& step) {
  const std::optional<ResizeBackend> backend = ResizeBackendFromName(step["backend"].as_string());
  QB_CHECK_MSG(backend.has_value(), "resize backend '", step["backend"].as_string(), "'");
  return *backend;
}

std::vector<float> Floats(const Json& list) {
  std::vector<float> values;
  for (const Json& item : list.items()) {
    values.push_back(static_cast<float>(item.as_double()));
  }
  return values;
}

PipelineStep ParseStep(const Json& step) {
  const std::string& op = step["op"].as_string();
  const auto number = [&](absl::string_view key) { return step[key].as_int(); };
  if (op == "resize") {
    return ResizeStep{number("height"),
                      number("width"),
                      number("size"),
                      BackendOf(step),
                      {ModeOf(step), step["alignCorners"].as_bool(), step["antialias"].as_bool()}};
  }
  if (op == "centerCrop") {
    return CenterCropStep{number("height"), number("width")};
  }
  if (op == "crop") {
    return CropStep{number("top"), number("left"), number("height"), number("width")};
  }
  if (op == "letterbox") {
    return LetterboxStep{number("height"), number("width"), step["padValue"].as_double(),
                         BackendOf(step),  ModeOf(step),    number("alignType") == 0};
  }
  if (op == "pad") {
    return PadStep{number("top"), number("bottom"), number("left"), number("right"),
                   step["padValue"].as_double()};
  }
  if (op == "normalize") {
    return NormalizeStep{Floats(step["mean"]), Floats(step["std"]), step["scaleToUint8"].as_bool(),
                         step["fuseIntoFirstLayer"].as_bool()};
  }
  QB_CHECK_MSG(op == "colorConvert", "step '", op, "'");
  return ColorConvertStep{step["from"].as_string(), step["to"].as_string()};
}

// A fused letterbox takes images of one size, as the executable will.
absl::Status CheckSourceSize(const Json& step, const Tensor& image) {
  if (step["op"].as_string() != "letterbox" || !IsFused(step)) {
    return absl::OkStatus();
  }
  const ImageSize found{image.shape()[0], image.shape()[1]}, source = SourceSizeOf(step);
  return found == source
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   "the image is ", found.height, "x", found.width,
                   "; with fuseIntoFirstLayer it must be ", source.height, "x", source.width,
                   " (sourceHeight, sourceWidth), which a resize or a letterbox before this one "
                   "can "
                   "see to"));
}

}  // namespace

absl::StatusOr<Pipeline> Pipeline::Create(const Json& steps) {
  Pipeline pipeline;
  pipeline.json_ = steps;
  for (const Json& step : steps.items()) {
    pipeline.steps_.push_back(ParseStep(step));
  }
  QB_RETURN_IF_ERROR(CheckFusedSteps(pipeline));
  return pipeline;
}

absl::StatusOr<Tensor> Pipeline::Apply(Tensor image) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    absl::Status fits = CheckSourceSize(json_.items()[i], image);
    absl::StatusOr<Tensor> result =
        fits.ok() ? ApplyStep(steps_[i], image) : absl::StatusOr<Tensor>(std::move(fits));
    if (!result.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("pipeline[", i, "] (",
                                                     json_.items()[i]["op"].as_string(),
                                                     "): ", result.status().message()));
    }
    image = *std::move(result);
  }
  return image;
}

const NormalizeStep* Pipeline::fused() const {
  const auto* last = steps_.empty() ? nullptr : std::get_if<NormalizeStep>(&steps_.back());
  return last != nullptr && last->fuse ? last : nullptr;
}

bool Pipeline::normalizes_outside() const {
  for (const PipelineStep& step : steps_) {
    const auto* normalize = std::get_if<NormalizeStep>(&step);
    if (normalize != nullptr && !normalize->fuse) {
      return true;
    }
  }
  return false;
}

std::string Pipeline::ColorOrder(const std::string& source) const {
  std::string order = source;
  for (const PipelineStep& step : steps_) {
    if (const auto* convert = std::get_if<ColorConvertStep>(&step); convert != nullptr) {
      order = convert->to;
    }
  }
  return order;
}

}  // namespace qb

#include "core/dataset/preprocess/letterbox.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

// More would make the weights of a block's mean a large layer for nothing.
constexpr int64_t kMostFactor = 16;

// Python's round: half to even.
int64_t RoundHalfToEven(double value) { return static_cast<int64_t>(std::nearbyint(value)); }

std::string SizeText(ImageSize size) { return absl::StrCat(size.height, "x", size.width); }

// OpenCV multiplies the index by a quotient of quotients, which may fall short of the factor.
bool PicksTheFirstPixel(int64_t in, int64_t out, int64_t factor) {
  const double step = 1.0 / (static_cast<double>(out) / static_cast<double>(in));
  for (int64_t i = 0; i < out; ++i) {
    if (static_cast<int64_t>(std::floor(static_cast<double>(i) * step)) != i * factor) {
      return false;
    }
  }
  return true;
}

// Which pixels of a block count.
absl::Status ChooseTaps(const LetterboxStep& step, LetterboxFold& fold) {
  const int64_t factor = fold.factor;
  const bool odd = factor % 2 == 1;
  switch (step.mode) {
    case Interpolation::kNearest:
      if (step.backend == ResizeBackend::kOpencv &&
          !(PicksTheFirstPixel(fold.source.height, fold.inner.height, factor) &&
            PicksTheFirstPixel(fold.source.width, fold.inner.width, factor))) {
        return absl::InvalidArgumentError(
            "OpenCV's mode nearest takes pixels of neighbouring blocks at these sizes; mode "
            "bilinear can be folded");
      }
      return absl::OkStatus();
    case Interpolation::kArea:
      if (!odd && (factor & (factor - 1)) != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("means of mode area by ", factor,
                         " are not rounded exactly; odd factors and powers of two are"));
      }
      fold.taps = factor;
      fold.half_up = step.backend == ResizeBackend::kOpencv && factor == 2;
      return absl::OkStatus();
    case Interpolation::kBilinear:
      fold.first_tap = (factor - 1) / 2;
      fold.taps = odd ? 1 : 2;
      fold.half_up = step.backend == ResizeBackend::kOpencv && !odd;
      return absl::OkStatus();
    case Interpolation::kBicubic:
    case Interpolation::kLanczos:
      break;
  }
  if (!odd) {
    return absl::InvalidArgumentError(
        absl::StrCat("mode ", step.mode == Interpolation::kBicubic ? "bicubic" : "lanczos",
                     " reads beyond its block when it shrinks by ", factor,
                     "; nearest, bilinear and area can be folded, this one by odd factors"));
  }
  fold.first_tap = (factor - 1) / 2;
  return absl::OkStatus();
}

}  // namespace

LetterboxPlace PlaceInLetterbox(const LetterboxStep& step, ImageSize image) {
  const double height = static_cast<double>(image.height);
  const double width = static_cast<double>(image.width);
  const double ratio =
      std::min(static_cast<double>(step.height) / height, static_cast<double>(step.width) / width);
  LetterboxPlace place;
  place.inner = {std::max<int64_t>(1, RoundHalfToEven(height * ratio)),
                 std::max<int64_t>(1, RoundHalfToEven(width * ratio))};
  place.bottom = step.height - place.inner.height;
  place.right = step.width - place.inner.width;
  if (step.centre) {
    place.top = RoundHalfToEven(static_cast<double>(place.bottom) / 2 - 0.1);
    place.left = RoundHalfToEven(static_cast<double>(place.right) / 2 - 0.1);
    place.bottom -= place.top;
    place.right -= place.left;
  }
  return place;
}

absl::StatusOr<LetterboxFold> FoldOf(const LetterboxStep& step, ImageSize source) {
  if (source.height == 0 || source.width == 0) {
    return absl::InvalidArgumentError(
        "fuseIntoFirstLayer needs sourceHeight and sourceWidth: the executable takes images of "
        "one size");
  }
  if (step.pad_value < 0 || step.pad_value > 255 || step.pad_value != std::floor(step.pad_value)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "padValue ", step.pad_value, " on uint8 pixels; an integer from 0 to 255 is one"));
  }
  LetterboxFold fold;
  fold.source = source;
  const LetterboxPlace place = PlaceInLetterbox(step, source);
  fold.inner = place.inner;
  fold.top = place.top;
  fold.left = place.left;
  fold.pad_value = static_cast<int32_t>(step.pad_value);
  const double shrinks =
      std::max(static_cast<double>(source.height) / static_cast<double>(step.height),
               static_cast<double>(source.width) / static_cast<double>(step.width));
  fold.factor = std::clamp<int64_t>(std::llround(shrinks), 1, kMostFactor);
  const ImageSize whole{fold.inner.height * fold.factor, fold.inner.width * fold.factor};
  if (whole != source) {
    return absl::InvalidArgumentError(
        absl::StrCat("a source of ", SizeText(source), " becomes ", SizeText(fold.inner),
                     ", which is no whole factor from 1 to ", kMostFactor, " for both sides; ",
                     SizeText(whole), " is near and has one"));
  }
  QB_RETURN_IF_ERROR(ChooseTaps(step, fold));
  return fold;
}

bool IsFused(const Json& step) { return step["fuseIntoFirstLayer"].as_bool(); }

ImageSize SourceSizeOf(const Json& letterbox) {
  return {letterbox["sourceHeight"].as_int(), letterbox["sourceWidth"].as_int()};
}

absl::Status CheckFusedSteps(const Pipeline& pipeline) {
  const std::vector<Json>& steps = pipeline.json().items();
  const auto named = [&](size_t i) {
    return absl::StrCat("pipeline[", i, "] (", steps[i]["op"].as_string(), ")");
  };
  bool normalized = false;  // outside, by the application
  std::optional<size_t> letterbox;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool normalize = std::holds_alternative<NormalizeStep>(pipeline.steps()[i]);
    const bool behind_fused = i > 0 && IsFused(steps[i - 1]);
    if (behind_fused && !(letterbox == i - 1 && normalize && IsFused(steps[i]))) {
      return absl::InvalidArgumentError(absl::StrCat(
          named(i - 1), ": fuseIntoFirstLayer is for the last step",
          letterbox == i - 1 ? " but a fused normalize" : "", "; ", named(i), " comes after it"));
    }
    normalized = normalized || (normalize && !IsFused(steps[i]));
    const auto* box = std::get_if<LetterboxStep>(&pipeline.steps()[i]);
    if (box == nullptr || !IsFused(steps[i])) {
      continue;
    }
    letterbox = i;
    if (normalized) {
      return absl::InvalidArgumentError(
          absl::StrCat(named(i),
                       ": a fused letterbox takes bytes, and a normalize comes before "
                       "it; behind it, fused, it can be folded too"));
    }
    const absl::Status fold = FoldOf(*box, SourceSizeOf(steps[i])).status();
    if (!fold.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(named(i), ": ", fold.message()));
    }
  }
  return absl::OkStatus();
}

size_t StepsBeforeFused(const Pipeline& pipeline) {
  const std::vector<Json>& steps = pipeline.json().items();
  return static_cast<size_t>(std::find_if(steps.begin(), steps.end(), IsFused) - steps.begin());
}

std::optional<LetterboxFold> FoldedLetterbox(const Pipeline& pipeline) {
  const size_t first = StepsBeforeFused(pipeline);
  const auto* box = first == pipeline.steps().size()
                        ? nullptr
                        : std::get_if<LetterboxStep>(&pipeline.steps()[first]);
  if (box == nullptr) {
    return std::nullopt;
  }
  const absl::StatusOr<LetterboxFold> fold =
      FoldOf(*box, SourceSizeOf(pipeline.json().items()[first]));
  QB_CHECK(fold.ok());
  return *fold;
}

namespace {

Pipeline Part(const Pipeline& pipeline, size_t begin, size_t end) {
  Json steps = Json::Array();
  for (size_t i = begin; i < end; ++i) {
    steps.Append(pipeline.json().items()[i]);
  }
  absl::StatusOr<Pipeline> part = Pipeline::Create(steps);
  QB_CHECK(part.ok());
  return *std::move(part);
}

}  // namespace

Pipeline BeforeFused(const Pipeline& pipeline) {
  return Part(pipeline, 0, StepsBeforeFused(pipeline));
}

Pipeline FusedSteps(const Pipeline& pipeline) {
  return Part(pipeline, StepsBeforeFused(pipeline), pipeline.steps().size());
}

}  // namespace qb

#include "core/dataset/preprocess/letterbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/testing/status_matchers.h"
#include "core/dataset/preprocess/pipeline.h"
#include "core/dataset/testing/pictures.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::Picture;
using testing::StatusIs;

// The definition of a fold, pixel by pixel.
Tensor ByFold(const LetterboxFold& fold, const LetterboxStep& step, const Tensor& image) {
  const int64_t channels = image.shape()[2];
  Tensor result = Tensor::Allocate({DType::kUint8, Shape{step.height, step.width, channels}});
  std::fill_n(result.mutable_data<uint8_t>(), result.elements(),
              static_cast<uint8_t>(fold.pad_value));
  const int64_t count = fold.taps * fold.taps;
  for (int64_t y = 0; y < fold.inner.height; ++y) {
    for (int64_t x = 0; x < fold.inner.width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        int64_t sum = 0;
        for (int64_t tap = 0; tap < count; ++tap) {
          const int64_t row = y * fold.factor + fold.first_tap + tap / fold.taps;
          const int64_t column = x * fold.factor + fold.first_tap + tap % fold.taps;
          sum += image.data<uint8_t>()[(row * fold.source.width + column) * channels + c];
        }
        const int64_t twice = 2 * (sum % count);
        const bool up = twice > count || (twice == count && (fold.half_up || sum / count % 2 == 1));
        result
            .mutable_data<uint8_t>()[((fold.top + y) * step.width + fold.left + x) * channels + c] =
            static_cast<uint8_t>(sum / count + (up ? 1 : 0));
      }
    }
  }
  return result;
}

LetterboxStep StepOf(ResizeBackend backend, Interpolation mode) {
  return {12, 16, 114, backend, mode, true};
}
// Three rows of padding remain.
ImageSize Source(int64_t factor) { return {9 * factor, 16 * factor}; }

TEST(Letterbox, FoldsToTheStepsOwnPixels) {
  int64_t folded = 0;
  for (const ResizeBackend backend : {ResizeBackend::kTorch, ResizeBackend::kOpencv}) {
    for (const Interpolation mode :
         {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic,
          Interpolation::kArea, Interpolation::kLanczos}) {
      if (backend == ResizeBackend::kTorch && mode == Interpolation::kLanczos) {
        continue;  // it has none
      }
      for (int64_t factor = 1; factor <= 16; ++factor) {
        const LetterboxStep step = StepOf(backend, mode);
        const ImageSize source = Source(factor);
        const absl::StatusOr<LetterboxFold> fold = FoldOf(step, source);
        if (!fold.ok()) {
          EXPECT_NE(mode, Interpolation::kBilinear) << fold.status();
          continue;
        }
        ++folded;
        for (int64_t channels : {1, 3}) {
          const Tensor image = Picture(static_cast<int>(factor % 4), static_cast<uint64_t>(factor),
                                       source.height, source.width, channels);
          QB_ASSERT_OK_AND_ASSIGN(const Tensor want, ApplyStep(step, image));
          EXPECT_TRUE(ByFold(*fold, step, image).Equals(want))
              << "backend " << static_cast<int>(backend) << ", mode " << static_cast<int>(mode)
              << ", by " << factor;
        }
      }
    }
  }
  EXPECT_EQ(folded, 2 * (16 + 16 + 8 + 12) + 8);
}

TEST(Letterbox, RefusesWhatCannotBeFolded) {
  const auto refused = [](const char* words, void (*change)(LetterboxStep&, ImageSize&)) {
    LetterboxStep step = StepOf(ResizeBackend::kOpencv, Interpolation::kBilinear);
    ImageSize source = Source(2);
    change(step, source);
    EXPECT_THAT(FoldOf(step, source),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)));
  };
  refused("needs sourceHeight and sourceWidth",
          [](LetterboxStep&, ImageSize& source) { source = {}; });
  refused("padValue 0.5", [](LetterboxStep& step, ImageSize&) { step.pad_value = 0.5; });
  refused("padValue 256", [](LetterboxStep& step, ImageSize&) { step.pad_value = 256; });
  refused(
      "a source of 19x32 becomes 10x16, which is no whole factor from 1 to 16 for both sides; "
      "20x32 is near",
      [](LetterboxStep&, ImageSize& source) { source.height = 19; });
  refused("no whole factor", [](LetterboxStep&, ImageSize& source) { source = {6, 8}; });
  refused("no whole factor", [](LetterboxStep&, ImageSize& source) { source = Source(17); });
  refused("bicubic reads beyond its block when it shrinks by 2",
          [](LetterboxStep& step, ImageSize&) { step.mode = Interpolation::kBicubic; });
  refused("area by 6", [](LetterboxStep& step, ImageSize& source) {
    step.mode = Interpolation::kArea;
    source = Source(6);
  });
}

constexpr char kBox[] =
    R"({"op":"letterbox","height":4,"width":4,"padValue":7,"mode":"bilinear","backend":"opencv",
        "fuseIntoFirstLayer":true,"sourceHeight":6,"sourceWidth":8})";
constexpr char kFlip[] = R"({"op":"colorConvert","from":"RGB","to":"BGR"})";

std::string Normalize(bool fuse) {
  return absl::StrCat(R"({"op":"normalize","mean":[0.5],"std":[0.5],"scaleToUint8":true,)",
                      R"("fuseIntoFirstLayer":)", fuse ? "true}" : "false}");
}

absl::StatusOr<Pipeline> Made(const std::vector<std::string>& steps) {
  Json list = Json::Array();
  for (const std::string& step : steps) {
    list.Append(*Json::Parse(step));
  }
  return Pipeline::Create(list);
}

TEST(Letterbox, DividesThePipelineInTwo) {
  QB_ASSERT_OK_AND_ASSIGN(const Pipeline whole, Made({kFlip, kBox, Normalize(true)}));
  ASSERT_TRUE(FoldedLetterbox(whole).has_value());
  EXPECT_EQ(FoldedLetterbox(whole)->factor, 2);
  EXPECT_EQ(StepsBeforeFused(whole), 1u);
  EXPECT_EQ(BeforeFused(whole).steps().size(), 1u);
  EXPECT_FALSE(FoldedLetterbox(BeforeFused(whole)).has_value());
  EXPECT_EQ(FusedSteps(whole).steps().size(), 2u);
  EXPECT_NE(FusedSteps(whole).fused(), nullptr);
  EXPECT_EQ(StepsBeforeFused(FusedSteps(whole)), 0u);
  QB_ASSERT_OK_AND_ASSIGN(const Pipeline none, Made({kFlip, Normalize(true)}));
  EXPECT_FALSE(FoldedLetterbox(none).has_value());
  EXPECT_EQ(StepsBeforeFused(none), 1u);
}

TEST(Letterbox, WhatStandsAroundItMustBeFoldedToo) {
  EXPECT_THAT(Made({kBox, kFlip}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("pipeline[0] (letterbox): fuseIntoFirstLayer is for the last step "
                                 "but a fused normalize; pipeline[1] (colorConvert) comes")));
  EXPECT_THAT(Made({kBox, Normalize(false)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pipeline[1] (normalize)")));
  EXPECT_THAT(Made({kBox, kBox}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pipeline[1] (letterbox)")));
  EXPECT_THAT(Made({kBox, Normalize(true), Normalize(true)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pipeline[2] (normalize)")));
  EXPECT_THAT(Made({Normalize(false), kBox}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("takes bytes")));
}

TEST(Letterbox, TakesImagesOfTheSourcesSizeOnly) {
  QB_ASSERT_OK_AND_ASSIGN(const Pipeline pipeline, Made({kBox}));
  QB_ASSERT_OK_AND_ASSIGN(const Tensor right, pipeline.Apply(Picture(0, 1, 6, 8, 3)));
  EXPECT_EQ(right.shape(), (Shape{4, 4, 3}));
  EXPECT_THAT(pipeline.Apply(Picture(0, 1, 8, 8, 3)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the image is 8x8; with fuseIntoFirstLayer it must be 6x8")));
}

}  // namespace
}  // namespace qb

// The geometry of a letterbox, and letterboxes that an executable computes itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

#include "core/base/json.h"
#include "core/dataset/preprocess/pipeline.h"
#include "core/dataset/preprocess/resize.h"

namespace qb {

// Where an image comes to lie: `inner` is its size, the rest is padding.
struct LetterboxPlace {
  ImageSize inner;
  int64_t top = 0, bottom = 0, left = 0, right = 0;
};
// The YOLO family's rule: as large as fits, sizes rounded half to even, the odd pixel of padding
// below and right.
LetterboxPlace PlaceInLetterbox(const LetterboxStep& step, ImageSize image);

// A letterbox that shrinks by a whole number. Each pixel of the result comes from a block of
// factor x factor source pixels: it is the mean of the taps x taps pixels that lie first_tap rows
// and columns inside of the block. On uint8 that is what the step computes, pixel for pixel.
struct LetterboxFold {
  ImageSize source, inner;
  int64_t factor = 1;
  int64_t first_tap = 0, taps = 1;
  bool half_up = false;       // a mean between two whole numbers: up, or else to the even one
  int64_t top = 0, left = 0;  // of the picture within the result
  int32_t pad_value = 0;      // 0 to 255
};

// The fold of a letterbox for images of `source`. Errors: InvalidArgument saying what cannot be
// folded: no source size (a side of 0), a factor that is no whole number for both sides, a mode
// that reads beyond its block or whose means cannot be rounded exactly, a padding value that is no
// byte.
absl::StatusOr<LetterboxFold> FoldOf(const LetterboxStep& step, ImageSize source);

// Whether a step (of Pipeline::json()) has fuseIntoFirstLayer: the executable does it.
bool IsFused(const Json& step);
// Of a letterbox: sourceHeight and sourceWidth; 0 where they are not given.
ImageSize SourceSizeOf(const Json& letterbox);

// What a pipeline may fuse: its last step, a normalize or a letterbox, or a letterbox and the
// normalize behind it; a letterbox only where it can be folded and no normalize comes before it, as
// it works on bytes. Pipeline::Create checks that. Errors: InvalidArgument naming the step.
absl::Status CheckFusedSteps(const Pipeline& pipeline);

// The letterbox that the executable does, with everything behind it; nothing where there is none.
// Precondition: the pipeline passed CheckFusedSteps.
std::optional<LetterboxFold> FoldedLetterbox(const Pipeline& pipeline);
// How many steps come before those that the executable does itself.
size_t StepsBeforeFused(const Pipeline& pipeline);
// The pipeline in two: what the application does, and what the executable does.
Pipeline BeforeFused(const Pipeline& pipeline);
Pipeline FusedSteps(const Pipeline& pipeline);

}  // namespace qb

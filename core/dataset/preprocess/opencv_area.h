// OpenCV's INTER_AREA where it shrinks.
#pragma once

#include "core/dataset/preprocess/resize.h"

namespace qb {

// Precondition: `to` is nowhere larger than the image [H, W, C].
Tensor OpencvAreaShrink(const Tensor& image, ImageSize to);

}  // namespace qb

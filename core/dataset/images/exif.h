// The one thing of EXIF that matters for calibration: how the camera was held.
#pragma once

#include "absl/strings/string_view.h"

namespace qb {

// From the payload of a JPEG's APP1 segment ("Exif\0\0" and a TIFF structure): the orientation, 1
// to 8, or 1 where there is none or the structure is damaged.
int ExifOrientation(absl::string_view segment);

}  // namespace qb

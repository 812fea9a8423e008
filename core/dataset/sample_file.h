// One file of a calibration set as arrays, whatever its format.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/dataset/named_array.h"

namespace qb {

// ".npy, .npz, .pt, .pth, .jpg, .jpeg, .png, .bmp, .webp"
absl::string_view SampleExtensions();
// Whether a path ends in one of them, in either case.
bool IsSamplePath(absl::string_view path);

// The arrays of a regular file, by the extension of its path, which the content must agree with. An
// image has its own channels, 1 to 4.
//
// Errors: InvalidArgument without the path: not a regular file (it is never opened for reading
// then), another content than the name says, damaged, too large, bytes behind the content.
absl::StatusOr<std::vector<NamedArray>> ReadSampleFile(const std::string& path);

// The arrays of an .npz file's bytes. Errors: as above.
absl::StatusOr<std::vector<NamedArray>> ParseNpz(absl::string_view bytes);

}  // namespace qb

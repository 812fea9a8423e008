// Finds the samples of a set on disk; looks at no bytes of theirs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace qb {

struct SamplePath {
  std::string name;  // of the file or folder, without ".npy"
  std::string path;
  bool is_folder = false;
};

// Samples of a folder (its .npy files and sub-folders; names that begin with '.' and files that are
// no samples are left out) or of a .txt listing, sorted by name, then path.
//
// Errors: CALIBRATION_DATA_ERROR for a path that does not exist, a listed path that does not exist,
// a sample format that is not read yet, and an empty set.
absl::StatusOr<std::vector<SamplePath>> ListSamples(const std::string& path);

}  // namespace qb

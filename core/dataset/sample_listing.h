// Finds the samples of a set on disk; looks at no bytes of theirs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace qb {

struct SamplePath {
  // Of the file without its extension, or of the folder; with leading folders where a listing has
  // the same name in several.
  std::string name;
  std::string path;
  bool is_folder = false;
  // Of a .json listing of objects: (input name, path); `path` is then the listing's "file#index".
  std::vector<std::pair<std::string, std::string>> inputs;
};

// Samples of a folder (its files with one of SampleExtensions and its sub-folders; names that begin
// with '.' and other files are left out), of a .txt listing (a path a line) or of a .json listing
// (a list of paths, or of objects {input name: path}), sorted by name, then path. Relative paths of
// a listing are relative to its folder, then to the working folder, and must not climb out of it.
//
// Errors: CALIBRATION_DATA_ERROR for a path that does not exist or cannot be looked at (a loop of
// links), that is neither file nor folder (a pipe), two samples of one name, a listing that is
// malformed, and an empty set.
absl::StatusOr<std::vector<SamplePath>> ListSamples(const std::string& path);

}  // namespace qb

// How much lies in a folder.
#pragma once

#include <cstdint>
#include <string>

namespace qb::worker {

struct FolderUsage {
  int64_t bytes = 0;  // of the disk's blocks, not of the files' lengths: holes cost nothing
  int64_t files = 0;  // and folders, links, ...
};

// Follows no links and stays on the folder's file system. What vanishes meanwhile is left out; the
// count ends early beyond `enough_files`.
FolderUsage MeasureFolder(const std::string& folder, int64_t enough_files);

}  // namespace qb::worker

#include "worker/agent/folder_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/string_view.h"

namespace qb::worker {
namespace {

constexpr int64_t kBlockBytes = 512;  // of st_blocks, whatever the disk's are

// Null when it is not there, or lies on another file system.
DIR* OpenBeneath(int parent, const char* name, dev_t device) {
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat info = {};
  if (fd < 0 || ::fstat(fd, &info) != 0 || info.st_dev != device) {
    if (fd >= 0) {
      ::close(fd);
    }
    return nullptr;
  }
  return ::fdopendir(fd);
}

}  // namespace

FolderUsage MeasureFolder(const std::string& folder, int64_t enough_files) {
  FolderUsage usage;
  struct stat info = {};
  if (::lstat(folder.c_str(), &info) != 0) {
    return usage;
  }
  const dev_t device = info.st_dev;
  // A stack of open folders: a hostile tree is deeper than any path may be long.
  std::vector<DIR*> open;
  if (DIR* root = OpenBeneath(AT_FDCWD, folder.c_str(), device); root != nullptr) {
    open.push_back(root);
  }
  while (!open.empty()) {
    const dirent* entry = usage.files <= enough_files ? ::readdir(open.back()) : nullptr;
    if (entry == nullptr) {
      ::closedir(open.back());
      open.pop_back();
      continue;
    }
    const absl::string_view name = entry->d_name;
    const int fd = ::dirfd(open.back());
    if (name == "." || name == ".." ||
        ::fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    ++usage.files;
    usage.bytes += info.st_blocks * kBlockBytes;
    if (S_ISDIR(info.st_mode)) {
      // Too deep to open: what lies beneath is not counted, but its folders were.
      if (DIR* child = OpenBeneath(fd, entry->d_name, device); child != nullptr) {
        open.push_back(child);
      }
    }
  }
  return usage;
}

}  // namespace qb::worker

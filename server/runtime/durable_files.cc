#include "server/runtime/durable_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb::server {

absl::Status FileError(int errno_value, absl::string_view what, absl::string_view path) {
  const std::string text =
      absl::StrCat(what, " '", path, "': ", std::generic_category().message(errno_value));
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(text);
    case ENOENT:
      return absl::NotFoundError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::Status MakeFolders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) == 0) {
      const size_t slash = part.rfind('/');
      QB_RETURN_IF_ERROR(SyncFolder(slash == std::string::npos ? "" : part.substr(0, slash + 1)));
    } else if (errno != EEXIST) {
      return FileError(errno, "make the folder", part);
    }
    if (end == std::string::npos) {
      return absl::OkStatus();
    }
  }
}

absl::Status SyncFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return FileError(errno, "open", path);
  }
  const int failed = fsync(fd) != 0 ? errno : 0;
  close(fd);
  return failed == 0 ? absl::OkStatus() : FileError(failed, "sync", path);
}

absl::Status SyncFolder(const std::string& path) {
  const std::string& folder = path.empty() ? std::string(".") : path;
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return FileError(errno, "open the folder", folder);
  }
  const int failed = fsync(fd) != 0 ? errno : 0;
  close(fd);
  return failed == 0 ? absl::OkStatus() : FileError(failed, "sync the folder", folder);
}

}  // namespace qb::server

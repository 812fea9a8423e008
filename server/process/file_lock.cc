#include "server/process/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

#include "server/runtime/durable_files.h"

namespace qb::server {

absl::StatusOr<FileLock> FileLock::Take(const std::string& path, const std::string& purpose) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return FileError(errno, "open the lock", path);
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int failed = errno;
    close(fd);
    if (failed == EWOULDBLOCK) {
      return absl::FailedPreconditionError(
          absl::StrCat(purpose, ": another process holds '", path, "'"));
    }
    return FileError(failed, "lock", path);
  }
  return FileLock(fd);
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

}  // namespace qb::server

// A lock on a name in the file system, held while the process lives.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace qb::server {

// Movable owner. The kernel drops the lock with the process, however it ends.
class FileLock {
 public:
  // Makes the file (mode 0600) and locks it without waiting.
  // Errors: FailedPrecondition with `purpose` when another process holds it; Internal, NotFound.
  static absl::StatusOr<FileLock> Take(const std::string& path, const std::string& purpose);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace qb::server

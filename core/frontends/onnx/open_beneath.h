// Opening a file that is certainly beneath a folder.
#pragma once

#include <string>
#include <utility>

namespace qb::onnx_import {

// A file descriptor that closes itself; -1 when there is none.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  int get() const { return fd_; }

 private:
  int fd_;
};

// Opens `location`, a relative path without "..", for reading. The kernel resolves it with
// RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS; where openat2 is missing or forbidden, OpenByComponents.
// On failure the result holds -1 and errno says why (ELOOP for a symbolic link).
Descriptor OpenBeneath(int folder, const std::string& location);

// The same without openat2: each folder on the way is opened relative to its parent, and no
// component may be a symbolic link. A folder that is moved away meanwhile can be followed to its
// new place, which RESOLVE_BENEATH would notice.
Descriptor OpenByComponents(int folder, const std::string& location);

}  // namespace qb::onnx_import

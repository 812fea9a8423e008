#include "core/frontends/onnx/open_beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/str_split.h"

namespace qb::onnx_import {

Descriptor::~Descriptor() {
  if (fd_ >= 0) {
    const int error = errno;  // what a caller is about to read
    ::close(fd_);
    errno = error;
  }
}

Descriptor OpenBeneath(int folder, const std::string& location) {
  struct open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const auto fd =
      static_cast<int>(::syscall(SYS_openat2, folder, location.c_str(), &how, sizeof(how)));
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
    return OpenByComponents(folder, location);
  }
  return Descriptor(fd);
}

Descriptor OpenByComponents(int folder, const std::string& location) {
  const std::vector<std::string> parts = absl::StrSplit(location, '/', absl::SkipEmpty());
  Descriptor at(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  for (size_t i = 0; i < parts.size() && at.get() >= 0; ++i) {
    const bool last = i + 1 == parts.size();
    const int flags = last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    at = Descriptor(::openat(at.get(), parts[i].c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

}  // namespace qb::onnx_import

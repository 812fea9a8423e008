#include "core/base/file_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace qb {
namespace {

absl::Status OpenError(const std::string& path, int error) {
  const std::string message = absl::StrCat("cannot open '", path, "': ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::InternalError(message);
}

}  // namespace

absl::StatusOr<FileMap> FileMap::OpenDescriptor(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    return OpenError(path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a regular file"));
  }
  FileMap map;
  if (info.st_size > 0) {
    void* address =
        ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) {
      return OpenError(path, errno);
    }
    map.data_ = static_cast<const uint8_t*>(address);
    map.size_ = info.st_size;
  }
  return map;
}

absl::StatusOr<FileMap> FileMap::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return OpenError(path, errno);
  }
  absl::StatusOr<FileMap> map = OpenDescriptor(fd, path);
  ::close(fd);
  return map;
}

FileMap::~FileMap() {
  if (data_ != nullptr) {
    ::munmap(const_cast<uint8_t*>(data_), static_cast<size_t>(size_));
  }
}

FileMap::FileMap(FileMap&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

FileMap& FileMap::operator=(FileMap&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace qb

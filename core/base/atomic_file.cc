#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/file_map.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

absl::Status FileError(absl::string_view what, const std::string& path, int error) {
  return absl::InternalError(absl::StrCat(what, " '", path, "': ", std::strerror(error)));
}

std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  return absl::StrCat(path, ".tmp-", ::getpid(), "-", counter.fetch_add(1));
}

std::string ParentFolder(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(ParentFolder(path), error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("cannot make the folder of '", path, "': ", error.message()));
  }
  if (std::filesystem::is_directory(path, error)) {
    return absl::InternalError(absl::StrCat("cannot write '", path, "': it is a folder"));
  }
  std::string temporary = TemporaryName(path);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    return FileError("cannot write", path, errno);
  }
  return AtomicFile(path, std::move(temporary), fd);
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) {
    ::close(fd_);
    ::unlink(temporary_.c_str());
  }
}

absl::Status AtomicFile::Append(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return FileError("cannot write", path_, errno);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
    size_ += written;
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  if (::fsync(fd_) != 0) {
    return FileError("cannot flush", path_, errno);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return FileError("cannot rename to", path_, errno);
  }
  ::close(std::exchange(fd_, -1));
  const int folder = ::open(ParentFolder(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) {
    return FileError("cannot open the folder of", path_, errno);
  }
  const int result = ::fsync(folder);
  const int error = errno;
  ::close(folder);
  return result == 0 ? absl::OkStatus() : FileError("cannot flush the folder of", path_, error);
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes) {
  QB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  QB_RETURN_IF_ERROR(file.Append(bytes));
  return file.Commit();
}

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  QB_ASSIGN_OR_RETURN(FileMap map, FileMap::Open(path));
  if (map.size_bytes() > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' has ", map.size_bytes(),
                                                   " bytes; at most ", max_bytes, " are accepted"));
  }
  return std::string(map.bytes());
}

}  // namespace qb

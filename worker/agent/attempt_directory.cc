#include "worker/agent/attempt_directory.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "worker/agent/jsonl.h"
#include "worker/agent/stray_processes.h"

namespace qb::worker {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPartBytes = 255;
constexpr size_t kMaxParts = 16;

absl::Status FolderError(absl::string_view what, const std::string& path,
                         const std::error_code& error) {
  const std::string message = absl::StrCat(what, " '", path, "': ", error.message());
  return error == std::errc::no_space_on_device ? absl::ResourceExhaustedError(message)
                                                : absl::InternalError(message);
}

absl::Status PathError(absl::string_view path, absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat("manifest path '", CleanText(path, 300), "': ", rule));
}

// Gives the owner all rights on every folder beneath `path`, so that a child cannot keep us from
// removing what it made.
void MakeFoldersWritable(const std::string& path) {
  std::error_code error;
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, error);
  fs::directory_iterator it(path, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->symlink_status(ignored).type() == fs::file_type::directory) {
      MakeFoldersWritable(it->path().string());
    }
  }
}

void RemoveTree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) {
    MakeFoldersWritable(path);
    fs::remove_all(path, error);
  }
}

}  // namespace

absl::Status CheckManifestPath(absl::string_view path) {
  if (CleanText(path, path.size()) != path) {
    return PathError(path, "is not valid UTF-8");
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (parts.size() > kMaxParts) {
    return PathError(
        path, absl::StrCat("has ", parts.size(), " parts; at most ", kMaxParts, " are accepted"));
  }
  for (const absl::string_view part : parts) {
    if (part.empty() || part == "." || part == "..") {
      return PathError(path, "must be relative and without empty, '.' or '..' parts");
    }
    if (part.size() > kMaxPartBytes) {
      return PathError(path, absl::StrCat("a part has ", part.size(), " bytes; at most ",
                                          kMaxPartBytes, " are accepted"));
    }
    const bool plain = std::all_of(part.begin(), part.end(), [](char c) {
      return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F && c != '\\';
    });
    if (!plain) {
      return PathError(path, "has a backslash or a control character");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<AttemptDirectory> AttemptDirectory::Create(const std::string& work_dir,
                                                          const std::string& name) {
  AttemptDirectory directory(absl::StrCat(work_dir, "/attempts/", name));
  RemoveTree(directory.path_);
  for (const char* part : {"model", "calib", "eval", "out", "tmp", "root"}) {
    std::error_code error;
    fs::create_directories(directory.File(part), error);
    if (error) {
      return FolderError("cannot make the folder", directory.File(part), error);
    }
  }
  return directory;
}

AttemptDirectory::AttemptDirectory(AttemptDirectory&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

AttemptDirectory::~AttemptDirectory() {
  if (!path_.empty()) {
    RemoveTree(path_);
  }
}

std::string AttemptDirectory::File(absl::string_view relative) const {
  return absl::StrCat(path_, "/", relative);
}

absl::StatusOr<OutputFile> OutputFile::Open(const std::string& folder, const std::string& relative,
                                            int64_t max_bytes) {
  const int folder_fd = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder_fd < 0) {
    return absl::NotFoundError(absl::StrCat("output folder: ", std::strerror(errno)));
  }
  open_how how = {};
  // Without O_NONBLOCK a FIFO would hold us up.
  how.flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const int fd =
      static_cast<int>(::syscall(SYS_openat2, folder_fd, relative.c_str(), &how, sizeof(how)));
  const int open_error = errno;
  ::close(folder_fd);
  if (fd < 0) {
    const std::string message =
        absl::StrCat("output '", relative, "': ", std::strerror(open_error));
    return open_error == ENOENT ? absl::NotFoundError(message)
                                : absl::InvalidArgumentError(message);
  }
  struct stat info = {};
  const bool known = ::fstat(fd, &info) == 0;
  OutputFile file(fd, info.st_size);
  if (!known || !S_ISREG(info.st_mode) || info.st_nlink != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("output '", relative, "': not a regular file with one name"));
  }
  if (file.size_bytes_ > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("output '", relative, "': ", file.size_bytes_,
                                                     " bytes; at most ", max_bytes,
                                                     " are accepted"));
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_bytes_(other.size_bytes_) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

absl::StatusOr<std::string> OutputFile::Read(int64_t offset, int64_t length) const {
  std::string bytes(static_cast<size_t>(std::max<int64_t>(length, 0)), '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::pread(fd_, bytes.data() + size, bytes.size() - size,
                                static_cast<off_t>(offset) + static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return absl::InternalError(absl::StrCat("cannot read an output: ", std::strerror(errno)));
    }
    if (got == 0) {
      break;
    }
    size += static_cast<size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

absl::StatusOr<std::string> OutputFile::Sha256() const {
  class Sha256 hash;
  int64_t offset = 0;
  while (offset < size_bytes_) {
    const int64_t length = std::min<int64_t>(size_bytes_ - offset, int64_t{1} << 20);
    QB_ASSIGN_OR_RETURN(const std::string bytes, Read(offset, length));
    if (bytes.empty()) {
      return absl::DataLossError("an output became shorter while it was read");
    }
    hash.Update(bytes);
    offset += static_cast<int64_t>(bytes.size());
  }
  return hash.FinishHex();
}

absl::StatusOr<WorkDirectory> WorkDirectory::Open(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return FolderError("cannot make the folder", path, error);
  }
  const std::string absolute = fs::canonical(path, error).string();
  if (error) {
    return FolderError("cannot resolve", path, error);
  }
  const std::string lock_path = absl::StrCat(absolute, "/lock");
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) {
    return absl::InternalError(
        absl::StrCat("cannot open '", lock_path, "': ", std::strerror(errno)));
  }
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return absl::FailedPreconditionError(
        absl::StrCat("the work folder '", absolute, "' is in use by another agent"));
  }
  const std::string attempts = absl::StrCat(absolute, "/attempts");
  const int swept = KillStrayProcesses(attempts);
  RemoveTree(attempts);
  fs::create_directories(attempts, error);
  if (error) {
    ::close(lock);
    return FolderError("cannot make the folder", attempts, error);
  }
  return WorkDirectory(absolute, lock, swept);
}

WorkDirectory::WorkDirectory(WorkDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      lock_fd_(std::exchange(other.lock_fd_, -1)),
      swept_processes_(other.swept_processes_) {}

WorkDirectory::~WorkDirectory() {
  if (lock_fd_ >= 0) {
    ::close(lock_fd_);
  }
}

}  // namespace qb::worker

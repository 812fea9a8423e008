#include "server/blobs/attempt_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "core/base/status_macros.h"
#include "server/runtime/durable_files.h"

namespace qb::server {
namespace {

// Segment number -> bytes in it. No folder: no segments.
std::map<int64_t, int64_t> ListSegments(const std::string& folder, int32_t attempt) {
  std::map<int64_t, int64_t> segments;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string file = it->path().filename().string();
    absl::string_view name = file;
    int64_t segment = 0;
    std::error_code size_error;
    const auto bytes = it->file_size(size_error);
    if (!size_error && absl::ConsumePrefix(&name, absl::StrCat(attempt, ".")) &&
        absl::SimpleAtoi(name, &segment)) {
      segments[segment] = static_cast<int64_t>(bytes);
    }
  }
  return segments;
}

int64_t SizeOf(const std::map<int64_t, int64_t>& segments, int64_t segment_bytes) {
  return segments.empty() ? 0
                          : segments.rbegin()->first * segment_bytes + segments.rbegin()->second;
}

}  // namespace

std::string AttemptLogs::SegmentPath(int64_t execution, int32_t attempt, int64_t segment) const {
  return absl::StrCat(folder_, "/", execution, "/", attempt, ".", segment);
}

absl::StatusOr<int64_t> AttemptLogs::Append(int64_t execution, int32_t attempt, int64_t offset,
                                            absl::string_view data) {
  absl::StatusOr<int64_t> size = AppendLocked(execution, attempt, offset, data);
  if (size.ok() && listener_) {
    listener_(execution);
  }
  return size;
}

int64_t AttemptLogs::SizeBytes(int64_t execution, int32_t attempt) {
  absl::MutexLock lock(&mutex_);
  return SizeOf(ListSegments(absl::StrCat(folder_, "/", execution), attempt),
                options_.segment_bytes);
}

absl::Status AttemptLogs::Sync(int64_t execution, int32_t attempt) {
  const std::string folder = absl::StrCat(folder_, "/", execution);
  std::map<int64_t, int64_t> segments;
  {
    absl::MutexLock lock(&mutex_);
    segments = ListSegments(folder, attempt);
  }
  for (const auto& [segment, bytes] : segments) {
    const absl::Status status = SyncFile(SegmentPath(execution, attempt, segment));
    if (!absl::IsNotFound(status)) {  // cut from the middle meanwhile
      QB_RETURN_IF_ERROR(status);
    }
  }
  return segments.empty() ? absl::OkStatus() : SyncFolder(folder);
}

absl::Status AttemptLogs::Remove(int64_t execution) {
  const std::string folder = absl::StrCat(folder_, "/", execution);
  std::error_code error;
  absl::MutexLock lock(&mutex_);
  std::filesystem::remove_all(folder, error);
  return error ? absl::InternalError(absl::StrCat("remove '", folder, "': ", error.message()))
               : absl::OkStatus();
}

absl::StatusOr<int64_t> AttemptLogs::AppendLocked(int64_t execution, int32_t attempt,
                                                  int64_t offset, absl::string_view data) {
  if (offset < 0) {
    return absl::InvalidArgumentError(absl::StrCat("log: offset ", offset, ": expected 0 or more"));
  }
  absl::MutexLock lock(&mutex_);
  const std::string folder = absl::StrCat(folder_, "/", execution);
  const std::map<int64_t, int64_t> segments = ListSegments(folder, attempt);
  int64_t size = SizeOf(segments, options_.segment_bytes);
  if (offset > size) {
    return absl::OutOfRangeError(
        absl::StrCat("log: offset ", offset, ", but only ", size, " bytes are stored"));
  }
  data.remove_prefix(
      static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(data.size()), size - offset)));
  if (!data.empty()) {
    QB_RETURN_IF_ERROR(MakeFolders(folder));
  }
  while (!data.empty()) {
    const int64_t room = options_.segment_bytes - size % options_.segment_bytes;
    const absl::string_view piece = data.substr(0, static_cast<size_t>(room));
    QB_RETURN_IF_ERROR(AppendToSegment(execution, attempt, size, piece));
    size += static_cast<int64_t>(piece.size());
    data.remove_prefix(piece.size());
  }
  const int64_t last = std::max<int64_t>(0, size - 1) / options_.segment_bytes;
  for (const auto& [segment, bytes] : segments) {
    if (segment > 0 && segment <= last - options_.tail_segments) {
      unlink(SegmentPath(execution, attempt, segment).c_str());
    }
  }
  return size;
}

absl::Status AttemptLogs::AppendToSegment(int64_t execution, int32_t attempt, int64_t offset,
                                          absl::string_view data) {
  const std::string path = SegmentPath(execution, attempt, offset / options_.segment_bytes);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return FileError(errno, "open", path);
  }
  int64_t at = offset % options_.segment_bytes;
  absl::Status status;
  while (!data.empty() && status.ok()) {
    const ssize_t written = pwrite(fd, data.data(), data.size(), at);
    if (written < 0) {
      status = errno == EINTR ? absl::OkStatus() : FileError(errno, "write", path);
    } else {
      data.remove_prefix(static_cast<size_t>(written));
      at += written;
    }
  }
  close(fd);
  return status;
}

absl::StatusOr<LogPiece> AttemptLogs::Read(int64_t execution, int32_t attempt, int64_t offset,
                                           int64_t max_bytes) {
  if (offset < 0) {
    return absl::InvalidArgumentError(absl::StrCat("log: offset ", offset, ": expected 0 or more"));
  }
  absl::MutexLock lock(&mutex_);
  const auto segments = ListSegments(absl::StrCat(folder_, "/", execution), attempt);
  LogPiece piece;
  piece.offset = offset;
  for (const auto& [segment, bytes] : segments) {
    const int64_t begin = segment * options_.segment_bytes;
    if (begin + bytes <= offset) {
      continue;
    }
    const std::string path = SegmentPath(execution, attempt, segment);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      return FileError(errno, "open", path);
    }
    piece.offset = std::max(offset, begin);
    piece.data.resize(static_cast<size_t>(
        std::clamp<int64_t>(begin + bytes - piece.offset, 0, std::max<int64_t>(0, max_bytes))));
    const ssize_t got = pread(fd, piece.data.data(), piece.data.size(), piece.offset - begin);
    const int failed = got < 0 ? errno : 0;
    close(fd);
    if (failed != 0) {
      return FileError(failed, "read", path);
    }
    piece.data.resize(static_cast<size_t>(got));
    return piece;
  }
  return piece;
}

}  // namespace qb::server

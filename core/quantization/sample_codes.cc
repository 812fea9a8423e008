#include "core/quantization/sample_codes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

std::string ScratchFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder == nullptr || *folder == '\0' ? "/tmp" : folder;
}

absl::Status ScratchError(int error) {
  return Failure(FailureCode::kOutputWriteError,
                 absl::StrCat("no room for scratch data in '", ScratchFolder(),
                              "': ", std::strerror(error), "; TMPDIR can name another folder"));
}

// A file that is gone when it is closed. Not every file system has O_TMPFILE.
absl::StatusOr<int> OpenScratch() {
  std::string folder = ScratchFolder();
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) {
    std::string name = absl::StrCat(folder, "/qb-scratch-XXXXXX");
    fd = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0) {
      return ScratchError(errno);
    }
    (void)::unlink(name.c_str());
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SampleCodes>> SampleCodes::Create(int64_t samples,
                                                                 int64_t sample_bytes,
                                                                 int64_t in_memory) {
  int fd = -1;
  if (samples > in_memory) {
    QB_ASSIGN_OR_RETURN(fd, OpenScratch());
  }
  std::unique_ptr<SampleCodes> codes(new SampleCodes(sample_bytes, fd));
  const int64_t held = std::min(samples, in_memory);
  codes->held_.reserve(static_cast<size_t>(held));
  for (int64_t sample = 0; sample < held; ++sample) {
    codes->held_.emplace_back(new uint8_t[static_cast<size_t>(sample_bytes)]);
  }
  return codes;
}

SampleCodes::~SampleCodes() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

uint8_t* SampleCodes::Place(int64_t sample, Buffer& buffer) {
  if (IsHeld(sample)) {
    return held_[static_cast<size_t>(sample)].get();
  }
  buffer.resize(std::max(buffer.size(), static_cast<size_t>(sample_bytes_)));
  return buffer.data();
}

absl::Status SampleCodes::Keep(int64_t sample, const Buffer& buffer) {
  if (IsHeld(sample)) {
    return absl::OkStatus();
  }
  for (int64_t done = 0; done < sample_bytes_;) {
    const ssize_t count =
        ::pwrite(fd_, buffer.data() + done, static_cast<size_t>(sample_bytes_ - done),
                 Offset(sample) + done);
    if (count < 0 && errno != EINTR) {
      return ScratchError(errno);
    }
    done += std::max<ssize_t>(count, 0);
  }
  return absl::OkStatus();
}

absl::StatusOr<const uint8_t*> SampleCodes::Read(int64_t sample, Buffer& buffer) const {
  if (IsHeld(sample)) {
    return held_[static_cast<size_t>(sample)].get();
  }
  buffer.resize(std::max(buffer.size(), static_cast<size_t>(sample_bytes_)));
  for (int64_t done = 0; done < sample_bytes_;) {
    const ssize_t count = ::pread(fd_, buffer.data() + done,
                                  static_cast<size_t>(sample_bytes_ - done), Offset(sample) + done);
    if (count == 0 || (count < 0 && errno != EINTR)) {
      return absl::InternalError(
          absl::StrCat("cannot read scratch data in '", ScratchFolder(),
                       "': ", count == 0 ? "it ends early" : std::strerror(errno)));
    }
    done += std::max<ssize_t>(count, 0);
  }
  return buffer.data();
}

}  // namespace qb

// The folder of one attempt on the worker's disk.
//
//   <work-dir>/attempts/<name>/model/...    the files of the model's manifest
//                              calib/<n>/.. those of calibration set n
//                              eval/...     those of the evaluation set
//                              out/         where the compiler writes
//                              tmp/         its TMPDIR
//                              root/        where the sandbox builds its root
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb::worker {

// Checks a path of a manifest: relative, '/' between parts, no empty, "." or ".." part, no
// backslash, no control character, valid UTF-8, at most 255 bytes a part and 16 parts.
// Errors: InvalidArgument with the path and the rule.
absl::Status CheckManifestPath(absl::string_view path);

// Made empty, removed with everything in it by the destructor. Thread-compatible.
class AttemptDirectory {
 public:
  // `name` is a plain file name that says which lease it is, so that two attempts of a job never
  // share a folder. Errors: Internal with path and errno text; ResourceExhausted when the disk is
  // full.
  static absl::StatusOr<AttemptDirectory> Create(const std::string& work_dir,
                                                 const std::string& name);

  AttemptDirectory(AttemptDirectory&& other) noexcept;
  AttemptDirectory& operator=(AttemptDirectory&&) = delete;
  ~AttemptDirectory();

  const std::string& path() const { return path_; }
  std::string File(absl::string_view relative) const;

 private:
  explicit AttemptDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A regular file beneath an attempt's folder, opened for reading.
class OutputFile {
 public:
  // Follows no symbolic link in any part of `relative` and never leaves `folder`. Errors: NotFound;
  // InvalidArgument for what is not a regular file or has several hard links; ResourceExhausted
  // above `max_bytes`.
  static absl::StatusOr<OutputFile> Open(const std::string& folder, const std::string& relative,
                                         int64_t max_bytes);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  int64_t size_bytes() const { return size_bytes_; }
  // Reads up to `length` bytes at `offset`; shorter only at the end. Errors: Internal.
  absl::StatusOr<std::string> Read(int64_t offset, int64_t length) const;
  // SHA-256 of the whole content. Errors: DataLoss when the file is no longer as long as it was.
  absl::StatusOr<std::string> Sha256() const;

 private:
  OutputFile(int fd, int64_t size_bytes) : fd_(fd), size_bytes_(size_bytes) {}
  int fd_ = -1;
  int64_t size_bytes_ = 0;
};

// The worker's own folder, locked so that only one agent uses it.
class WorkDirectory {
 public:
  // Makes the folder, locks it, kills processes that an agent before left there and removes their
  // folders. Errors: FailedPrecondition when another agent has it; Internal.
  static absl::StatusOr<WorkDirectory> Open(const std::string& path);

  WorkDirectory(WorkDirectory&& other) noexcept;
  WorkDirectory& operator=(WorkDirectory&&) = delete;
  ~WorkDirectory();

  const std::string& path() const { return path_; }  // absolute, without symbolic links
  int swept_processes() const { return swept_processes_; }

 private:
  WorkDirectory(std::string path, int lock_fd, int swept)
      : path_(std::move(path)), lock_fd_(lock_fd), swept_processes_(swept) {}
  std::string path_;
  int lock_fd_ = -1;
  int swept_processes_ = 0;
};

}  // namespace qb::worker

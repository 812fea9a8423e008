// Writing a file so that readers see the whole of it or nothing.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb {

// Writes to `<path>.tmp-<pid>-<n>` in the same folder; Commit() flushes, fsyncs, renames over `path`
// and fsyncs the folder. Without Commit the destructor removes the temporary file. One thread.
class AtomicFile {
 public:
  // Makes the parent folders. Errors: Internal with path and errno text.
  static absl::StatusOr<AtomicFile> Create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  absl::Status Append(absl::string_view bytes);
  absl::Status Commit();
  int64_t size_bytes() const { return size_; }

 private:
  AtomicFile(std::string path, std::string temporary, int fd);

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
  int64_t size_ = 0;
};

absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes);

// Reads a whole regular file. Errors: NotFound, InvalidArgument (not a regular file, or larger than
// `max_bytes`), Internal.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes = int64_t{1} << 31);

}  // namespace qb

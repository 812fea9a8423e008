// A read-only memory map of a regular file.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace qb {

// Movable owner of the map. Thread-safe to read. The bytes live as long as the object.
class FileMap {
 public:
  // Errors: NotFound when there is no such file, InvalidArgument when it is not a regular file,
  // Internal with the errno text otherwise. An empty file gives an empty map.
  static absl::StatusOr<FileMap> Open(const std::string& path);
  // The same for an open descriptor, which stays the caller's. `path` is for messages.
  static absl::StatusOr<FileMap> OpenDescriptor(int fd, const std::string& path);

  FileMap() = default;
  ~FileMap();
  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&& other) noexcept;
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  int64_t size_bytes() const { return size_; }
  const uint8_t* data() const { return data_; }
  absl::string_view bytes() const {
    return absl::string_view(reinterpret_cast<const char*>(data_), static_cast<size_t>(size_));
  }

 private:
  const uint8_t* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace qb

// Weights in files beside the model, opened so that a hostile model reaches nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/file_map.h"
#include "core/frontends/imported_model.h"

namespace qb::onnx_import {

// Where one tensor's bytes are.
struct ExternalPlace {
  std::string location;  // relative path with '/' separators
  int64_t offset = 0;    // bytes
  int64_t length = -1;   // bytes; -1: as many as the tensor needs
};

// A piece of a mapped file; `owner` keeps the map.
struct ExternalBytes {
  const uint8_t* data = nullptr;
  std::shared_ptr<const void> owner;
};

// The files beneath one folder. Each is opened, mapped and hashed once. One thread at a time.
//
// Locations are resolved as open_beneath.h says: no "..", no absolute path, no symbolic link
// anywhere. Hard links are followed: they cannot be told from files, cannot be created through a
// model, and agents may present inputs as hard links to their store.
class ExternalFiles {
 public:
  // With an empty folder every lookup is refused (models that came as bytes alone).
  explicit ExternalFiles(std::string folder) : folder_(std::move(folder)) {}

  // `needed_bytes` at `place`. Errors: InvalidArgument naming the location: outside the folder, not
  // there, not a regular file, or too short.
  absl::StatusOr<ExternalBytes> Find(const ExternalPlace& place, int64_t needed_bytes);

  // In order of first use.
  const std::vector<ExternalFile>& used() const { return used_; }

 private:
  absl::StatusOr<std::shared_ptr<const FileMap>> Open(const std::string& location);

  std::string folder_;
  std::map<std::string, std::shared_ptr<const FileMap>> open_;
  std::vector<ExternalFile> used_;
};

// Errors: InvalidArgument for what can only be meant to leave the folder or to confuse a reader:
// empty, absolute, a ".." component, backslashes, control characters, more than 16 components.
absl::Status CheckLocation(absl::string_view location);

}  // namespace qb::onnx_import

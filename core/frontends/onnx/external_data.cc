#include "core/frontends/onnx/external_data.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "core/frontends/onnx/open_beneath.h"

namespace qb::onnx_import {
namespace {

constexpr size_t kMostComponents = 16;

absl::Status CannotOpen(absl::string_view location, int error) {
  const absl::string_view reason =
      error == ELOOP || error == EXDEV || error == ENOTDIR
          ? "it has to be a file beneath the model's folder, reached without symbolic links"
          : absl::string_view(std::strerror(error));
  return absl::InvalidArgumentError(
      absl::StrCat("external data '", location, "' cannot be opened: ", reason));
}

}  // namespace

absl::Status CheckLocation(absl::string_view location) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data location '", location.substr(0, 256), "' ", why,
                     "; a relative path beneath the model's folder is accepted"));
  };
  if (location.empty() || location.size() > 4096) {
    return refuse("is empty or too long");
  }
  if (location.front() == '/') {
    return refuse("is absolute");
  }
  for (const char c : location) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\') {
      return refuse("has a control character or a backslash");
    }
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(location, '/');
  if (parts.size() > kMostComponents) {
    return refuse("has more than 16 components");
  }
  for (const absl::string_view part : parts) {
    if (part == "..") {
      return refuse("leaves the model's folder");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const FileMap>> ExternalFiles::Open(const std::string& location) {
  if (const auto found = open_.find(location); found != open_.end()) {
    return found->second;
  }
  QB_RETURN_IF_ERROR(CheckLocation(location));
  if (folder_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data '", location, "': the model was given without its folder"));
  }
  const Descriptor folder(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) {
    return CannotOpen(location, errno);
  }
  const Descriptor file = OpenBeneath(folder.get(), location);
  if (file.get() < 0) {
    return CannotOpen(location, errno);
  }
  QB_ASSIGN_OR_RETURN(FileMap map, FileMap::OpenDescriptor(file.get(), location));
  auto shared = std::make_shared<const FileMap>(std::move(map));
  used_.push_back({location, Sha256Hex(shared->bytes())});
  open_[location] = shared;
  return shared;
}

absl::StatusOr<ExternalBytes> ExternalFiles::Find(const ExternalPlace& place,
                                                  int64_t needed_bytes) {
  QB_ASSIGN_OR_RETURN(std::shared_ptr<const FileMap> map, Open(place.location));
  if (place.length >= 0 && place.length != needed_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("external data '", place.location, "': length ",
                                                   place.length, ", the tensor has ", needed_bytes,
                                                   " bytes"));
  }
  // Written so that no sum can overflow.
  if (place.offset < 0 || place.offset > map->size_bytes() ||
      needed_bytes > map->size_bytes() - place.offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data '", place.location, "': ", needed_bytes, " bytes at offset ",
                     place.offset, " are outside the file of ", map->size_bytes(), " bytes"));
  }
  return ExternalBytes{map->data() + place.offset, map};
}

}  // namespace qb::onnx_import

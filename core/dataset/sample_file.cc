#include "core/dataset/sample_file.h"

#include <array>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/file_map.h"
#include "core/base/status_macros.h"
#include "core/dataset/archive.h"
#include "core/dataset/images/image.h"
#include "core/dataset/npy.h"
#include "core/dataset/torch_file.h"

namespace qb {
namespace {

constexpr uint64_t kMostNpzBytes = uint64_t{1} << 30;  // unpacked, of all arrays

constexpr auto kExtensions = std::to_array<absl::string_view>(
    {".npy", ".npz", ".pt", ".pth", ".jpg", ".jpeg", ".png", ".bmp", ".webp"});

absl::StatusOr<std::vector<NamedArray>> ParseLoneNpy(absl::string_view bytes) {
  QB_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(bytes));
  const int64_t behind =
      static_cast<int64_t>(bytes.size()) - header.data_offset - header.type.size_bytes();
  if (behind != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        behind, " bytes follow the array ", header.type.ToString(), " that the header describes"));
  }
  QB_ASSIGN_OR_RETURN(Tensor value, ParseNpy(bytes));
  std::vector<NamedArray> arrays;
  arrays.push_back({"", std::move(value)});
  return arrays;
}

absl::StatusOr<std::vector<NamedArray>> ParseImage(absl::string_view bytes, ImageFormat expected) {
  const std::optional<ImageFormat> found = SniffImage(bytes);
  if (found.has_value() && *found != expected) {
    return absl::InvalidArgumentError(absl::StrCat("the name says ", ImageFormatName(expected),
                                                   ", the content is ", ImageFormatName(*found),
                                                   "; rename the file"));
  }
  QB_ASSIGN_OR_RETURN(Image image, DecodeImage(bytes));
  std::vector<NamedArray> arrays;
  arrays.push_back({"", std::move(image.pixels), true, image.orientation});
  return arrays;
}

}  // namespace

absl::string_view SampleExtensions() {
  return ".npy, .npz, .pt, .pth, .jpg, .jpeg, .png, .bmp, .webp";
}

bool IsSamplePath(absl::string_view path) {
  for (const absl::string_view extension : kExtensions) {
    if (absl::EndsWithIgnoreCase(path, extension)) {
      return true;
    }
  }
  return false;
}

absl::StatusOr<std::vector<NamedArray>> ParseNpz(absl::string_view bytes) {
  QB_ASSIGN_OR_RETURN(const Archive archive, Archive::Open(bytes));
  std::vector<NamedArray> arrays;
  uint64_t total = 0;
  for (const Archive::Entry& entry : archive.entries()) {
    if (!absl::EndsWith(entry.name, ".npy")) {
      return absl::InvalidArgumentError(
          absl::StrCat("its entry '", entry.name.substr(0, 80), "' is no .npy array"));
    }
    total += entry.size;
    if (total > kMostNpzBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("its arrays unpack to more than ", kMostNpzBytes, " bytes"));
    }
    QB_ASSIGN_OR_RETURN(const std::string content, Archive::Read(entry));
    const std::string name = entry.name.substr(0, entry.name.size() - 4);
    absl::StatusOr<std::vector<NamedArray>> array = ParseLoneNpy(content);
    if (!array.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("array '", name.substr(0, 80), "': ", array.status().message()));
    }
    arrays.push_back({name, std::move((*array)[0].value)});
  }
  if (arrays.empty()) {
    return absl::InvalidArgumentError("it holds no arrays");
  }
  return arrays;
}

absl::StatusOr<std::vector<NamedArray>> ReadSampleFile(const std::string& path) {
  QB_ASSIGN_OR_RETURN(const FileMap file, FileMap::Open(path));
  const absl::string_view bytes = file.bytes();
  if (const std::optional<ImageFormat> format = ImageFormatOfPath(path); format.has_value()) {
    return ParseImage(bytes, *format);
  }
  if (absl::EndsWithIgnoreCase(path, ".npz")) {
    return ParseNpz(bytes);
  }
  if (absl::EndsWithIgnoreCase(path, ".pt") || absl::EndsWithIgnoreCase(path, ".pth")) {
    return ParseTorchFile(bytes);
  }
  return ParseLoneNpy(bytes);
}

}  // namespace qb

#include "core/dataset/sample_listing.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxListingBytes = int64_t{64} << 20;
constexpr auto kLaterFormats = std::to_array<absl::string_view>(
    {".npz", ".pt", ".pth", ".jpg", ".jpeg", ".png", ".bmp", ".webp"});

absl::Status DataError(absl::string_view message) {
  return Failure(FailureCode::kCalibrationDataError, message);
}

std::string Extension(const fs::path& path) {
  return absl::AsciiStrToLower(path.extension().string());
}

// Appends the entry when it is a sample. `listed`: the user named this very path.
absl::Status AppendSample(const fs::path& path, bool listed, std::vector<SamplePath>& samples) {
  std::error_code error;
  const std::string file = path.filename().string();
  if (fs::is_directory(path, error)) {
    samples.push_back({file, path.string(), true});
    return absl::OkStatus();
  }
  const std::string extension = Extension(path);
  if (extension == ".npy") {
    samples.push_back({path.stem().string(), path.string(), false});
    return absl::OkStatus();
  }
  const bool later =
      std::find(kLaterFormats.begin(), kLaterFormats.end(), extension) != kLaterFormats.end();
  if (listed || later) {
    return DataError(absl::StrCat("calibration data: '", path.string(), "' is ",
                                  later ? "of a format that is not supported yet" : "no sample",
                                  "; .npy files are accepted"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SamplePath>> ListFolder(const fs::path& folder) {
  std::vector<SamplePath> samples;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (absl::StartsWith(entry->path().filename().string(), ".")) {
      continue;
    }
    QB_RETURN_IF_ERROR(AppendSample(entry->path(), false, samples));
  }
  if (error) {
    return DataError(
        absl::StrCat("calibration data: cannot read '", folder.string(), "': ", error.message()));
  }
  return samples;
}

absl::StatusOr<std::vector<SamplePath>> ReadListing(const fs::path& listing) {
  const absl::StatusOr<std::string> text = ReadFile(listing.string(), kMaxListingBytes);
  if (!text.ok()) {
    return DataError(absl::StrCat("calibration data: ", text.status().message()));
  }
  std::vector<SamplePath> samples;
  int64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) {
      continue;
    }
    std::error_code error;
    fs::path path{std::string(line)};
    if (path.is_relative() && fs::exists(listing.parent_path() / path, error)) {
      path = listing.parent_path() / path;
    }
    if (!fs::exists(path, error)) {
      return DataError(absl::StrCat("calibration data: '", listing.string(), "' line ", line_number,
                                    ": there is no '", line.substr(0, 200), "'"));
    }
    QB_RETURN_IF_ERROR(AppendSample(path, true, samples));
  }
  return samples;
}

}  // namespace

absl::StatusOr<std::vector<SamplePath>> ListSamples(const std::string& path) {
  std::error_code error;
  const fs::path root(path);
  std::vector<SamplePath> samples;
  if (fs::is_directory(root, error)) {
    QB_ASSIGN_OR_RETURN(samples, ListFolder(root));
  } else if (fs::is_regular_file(root, error) && Extension(root) == ".txt") {
    QB_ASSIGN_OR_RETURN(samples, ReadListing(root));
  } else {
    return DataError(absl::StrCat(
        "calibration data: '", path, "' ",
        fs::exists(root, error) ? "is neither a folder nor a .txt listing" : "does not exist"));
  }
  if (samples.empty()) {
    return DataError(
        absl::StrCat("calibration data: '", path, "' has no samples; .npy files are accepted"));
  }
  std::sort(samples.begin(), samples.end(), [](const SamplePath& a, const SamplePath& b) {
    return std::tie(a.name, a.path) < std::tie(b.name, b.path);
  });
  return samples;
}

}  // namespace qb

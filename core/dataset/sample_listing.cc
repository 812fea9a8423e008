#include "core/dataset/sample_listing.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/json.h"
#include "core/base/status_macros.h"
#include "core/dataset/sample_file.h"

namespace qb {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxListingBytes = int64_t{64} << 20;

template <typename... Parts>
absl::Status DataError(const Parts&... parts) {
  return Failure(FailureCode::kCalibrationDataError, absl::StrCat("calibration data: ", parts...));
}

std::string Extension(const fs::path& path) {
  return absl::AsciiStrToLower(path.extension().string());
}

bool LinksToItsOwnFolder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(folder, error))) {
    return false;
  }
  const fs::path target = fs::canonical(folder, error);
  const fs::path parent =
      fs::canonical(folder.has_parent_path() ? folder.parent_path() : ".", error);
  const auto [differs, rest] =
      std::mismatch(target.begin(), target.end(), parent.begin(), parent.end());
  return !error && differs == target.end();
}

// Appends the entry when it is a sample. `listed`: the user named this very path.
absl::Status AppendSample(const fs::path& path, bool listed, std::vector<SamplePath>& samples) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error && status.type() != fs::file_type::not_found) {
    return DataError("'", path.string(), "' cannot be looked at: ", error.message());
  }
  if (fs::is_directory(status)) {
    if (LinksToItsOwnFolder(path)) {
      return DataError("'", path.string(), "' is a link to a folder that it lies in");
    }
    samples.push_back({path.filename().string(), path.string(), true, {}});
    return absl::OkStatus();
  }
  if (!IsSamplePath(path.string())) {
    return listed
               ? DataError("'", path.string(), "' is no sample; ", SampleExtensions(), " files are")
               : absl::OkStatus();
  }
  if (!fs::is_regular_file(status)) {
    return DataError("'", path.string(), "' is ",
                     status.type() == fs::file_type::not_found ? "a link to nothing"
                                                               : "neither a file nor a folder");
  }
  samples.push_back({path.stem().string(), path.string(), false, {}});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SamplePath>> ListFolder(const fs::path& folder) {
  std::vector<SamplePath> samples;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (!absl::StartsWith(entry->path().filename().string(), ".")) {
      QB_RETURN_IF_ERROR(AppendSample(entry->path(), false, samples));
    }
  }
  if (error) {
    return DataError("cannot read '", folder.string(), "': ", error.message());
  }
  return samples;
}

// A path of a listing, looked up. `where`: "'list.txt' line 3".
absl::StatusOr<fs::path> Resolve(const fs::path& listing, absl::string_view text,
                                 const std::string& where) {
  fs::path path{std::string(text)};
  if (path.is_relative()) {
    const fs::path plain = path.lexically_normal();
    if (!plain.empty() && *plain.begin() == "..") {
      return DataError(where, ": '", text.substr(0, 200), "' leaves the listing's folder");
    }
    std::error_code error;
    if (fs::exists(listing.parent_path() / path, error) || error) {
      path = listing.parent_path() / path;
    }
  }
  std::error_code error;
  if (!fs::exists(path, error)) {
    return error ? DataError(where, ": '", text.substr(0, 200),
                             "' cannot be looked at: ", error.message())
                 : DataError(where, ": there is no '", text.substr(0, 200), "'");
  }
  return path;
}

absl::StatusOr<std::vector<SamplePath>> ReadTextListing(const fs::path& listing,
                                                        const std::string& text) {
  std::vector<SamplePath> samples;
  int64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) {
      continue;
    }
    QB_ASSIGN_OR_RETURN(
        const fs::path path,
        Resolve(listing, line, absl::StrCat("'", listing.string(), "' line ", line_number)));
    QB_RETURN_IF_ERROR(AppendSample(path, true, samples));
  }
  return samples;
}

// An object {input name: path} of a .json listing.
absl::StatusOr<SamplePath> ReadObject(const fs::path& listing, const Json& object, size_t index,
                                      const std::string& where) {
  SamplePath sample;
  sample.path = absl::StrCat(listing.string(), "#", index);
  for (const auto& [input, value] : object.members()) {
    if (!value.is_string()) {
      return DataError(where, ": the value of '", input.substr(0, 80), "' is no path");
    }
    QB_ASSIGN_OR_RETURN(const fs::path path, Resolve(listing, value.as_string(), where));
    if (!IsSamplePath(path.string())) {
      return DataError(where, ": '", path.string(), "' is no sample; ", SampleExtensions(),
                       " files are");
    }
    sample.name = sample.name.empty() ? path.stem().string() : sample.name;
    sample.inputs.emplace_back(input, path.string());
  }
  if (sample.inputs.empty()) {
    return DataError(where, ": an empty object; {input name: path, ...} is expected");
  }
  return sample;
}

absl::StatusOr<std::vector<SamplePath>> ReadJsonListing(const fs::path& listing,
                                                        const std::string& text) {
  const absl::StatusOr<Json> json = Json::Parse(text, 8);
  if (!json.ok()) {
    return DataError("'", listing.string(), "': ", json.status().message());
  }
  if (!json->is_array()) {
    return DataError("'", listing.string(),
                     "': a list of paths or of {input name: path} is expected");
  }
  std::vector<SamplePath> samples;
  for (size_t i = 0; i < json->items().size(); ++i) {
    const Json& item = json->items()[i];
    const std::string where = absl::StrCat("'", listing.string(), "' item ", i);
    if (item.is_object()) {
      QB_ASSIGN_OR_RETURN(SamplePath sample, ReadObject(listing, item, i, where));
      samples.push_back(std::move(sample));
    } else if (item.is_string()) {
      QB_ASSIGN_OR_RETURN(const fs::path path, Resolve(listing, item.as_string(), where));
      QB_RETURN_IF_ERROR(AppendSample(path, true, samples));
    } else {
      return DataError(where, ": neither a path nor {input name: path}");
    }
  }
  return samples;
}

// Names tell samples apart in labels and outputs, so no two may be equal. Equal file names in
// several folders of a listing become paths.
absl::Status MakeNamesUnique(std::vector<SamplePath>& samples) {
  std::map<std::string, int> counts;
  for (const SamplePath& sample : samples) {
    ++counts[sample.name];
  }
  std::map<std::string, std::string> seen;
  for (SamplePath& sample : samples) {
    if (counts[sample.name] > 1) {
      const fs::path path(sample.inputs.empty() ? sample.path : sample.inputs[0].second);
      sample.name = (path.parent_path() / path.stem()).lexically_normal().string();
    }
    const auto [other, is_new] = seen.emplace(sample.name, sample.path);
    if (!is_new) {
      return DataError("two samples are called '", sample.name, "': '", other->second, "' and '",
                       sample.path, "'");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SamplePath>> ReadListing(const fs::path& root) {
  const absl::StatusOr<std::string> text = ReadFile(root.string(), kMaxListingBytes);
  if (!text.ok()) {
    return DataError(text.status().message());
  }
  return Extension(root) == ".txt" ? ReadTextListing(root, *text) : ReadJsonListing(root, *text);
}

}  // namespace

absl::StatusOr<std::vector<SamplePath>> ListSamples(const std::string& path) {
  std::error_code error;
  const fs::path root(path);
  const fs::file_status status = fs::status(root, error);
  std::vector<SamplePath> samples;
  if (fs::is_directory(status)) {
    QB_ASSIGN_OR_RETURN(samples, ListFolder(root));
  } else if (fs::is_regular_file(status) &&
             (Extension(root) == ".txt" || Extension(root) == ".json")) {
    QB_ASSIGN_OR_RETURN(samples, ReadListing(root));
  } else if (status.type() == fs::file_type::not_found) {
    return DataError("'", path, "' does not exist");
  } else if (error) {
    return DataError("'", path, "' cannot be looked at: ", error.message());
  } else {
    return DataError("'", path, "' is neither a folder nor a .txt or .json listing");
  }
  if (samples.empty()) {
    return DataError("'", path, "' has no samples; ", SampleExtensions(), " files are accepted");
  }
  QB_RETURN_IF_ERROR(MakeNamesUnique(samples));
  std::sort(samples.begin(), samples.end(), [](const SamplePath& a, const SamplePath& b) {
    return std::tie(a.name, a.path) < std::tie(b.name, b.path);
  });
  return samples;
}

}  // namespace qb

#include "client/cpp/job_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "client/cpp/onnx_side_files.h"
#include "core/base/atomic_file.h"
#include "core/base/file_map.h"
#include "core/base/json.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxListingBytes = 64 << 20;

bool IsFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::string FileName(const std::string& path) { return fs::path(path).filename().string(); }

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// The path of `inner` relative to `folder` when it lies beneath it, links resolved; else "".
std::string RelativeBeneath(const std::string& folder, const std::string& inner) {
  std::error_code error;
  const fs::path base = fs::canonical(folder, error);
  if (error) {
    return "";
  }
  const fs::path full = fs::canonical(inner, error);
  if (error) {
    return "";
  }
  const std::string relative = full.lexically_relative(base).generic_string();
  const bool beneath = !relative.empty() && relative != "." && relative != ".." &&
                       !absl::StartsWith(relative, "../");
  return beneath ? relative : "";
}

absl::StatusOr<LocalManifest> CollectModelFolder(const std::string& path) {
  ManifestBuilder builder;
  QB_RETURN_IF_ERROR(builder.AddFolder("", path));
  if (builder.size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("model folder '", path, "': it has no files"));
  }
  std::vector<std::string> models;
  std::error_code error;
  for (fs::directory_iterator entry(path, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (entry->path().extension() == ".onnx" && builder.Contains(name)) {
      models.push_back(name);
    }
  }
  return builder.Build(models.size() == 1 ? models.front() : "");
}

// A listing with its files, while it is being collected.
struct Listing {
  std::string folder;  // of the listing
  ManifestBuilder builder;
  int outside_count = 0;
};

// Adds the file or folder that `named` stands for. Returns its path in the manifest.
absl::StatusOr<std::string> AddListed(const std::string& named, Listing& listing) {
  const fs::path path(named);
  std::string found = path.is_absolute() ? named : (fs::path(listing.folder) / path).string();
  std::error_code error;
  if (!path.is_absolute() && !fs::exists(found, error)) {
    found = named;  // relative to the working directory
  }
  if (named.empty() || !fs::exists(found, error)) {
    return absl::NotFoundError(absl::StrCat("listed sample '", named, "': no such file or folder"));
  }
  std::string inside = RelativeBeneath(listing.folder, found);
  if (inside.empty()) {
    const std::string name = FileName(fs::weakly_canonical(found, error).string());
    inside = absl::StrFormat("listed/%06d/%s", listing.outside_count++, name);
  }
  if (IsFolder(found)) {
    QB_RETURN_IF_ERROR(listing.builder.AddFolder(inside, found));
  } else {
    QB_RETURN_IF_ERROR(listing.builder.AddFile(inside, found));
  }
  return inside;
}

// Replaces every string of the listing by the path in the manifest: elements of the array, and
// values of objects ({input name: path}), nested as deep as the parser allows.
absl::StatusOr<Json> RewriteJson(const Json& value, Listing& listing) {
  if (value.is_string()) {
    QB_ASSIGN_OR_RETURN(const std::string path, AddListed(value.as_string(), listing));
    return Json(path);
  }
  if (value.is_array()) {
    Json result = Json::Array();
    for (const Json& item : value.items()) {
      QB_ASSIGN_OR_RETURN(Json rewritten, RewriteJson(item, listing));
      result.Append(std::move(rewritten));
    }
    return result;
  }
  if (value.is_object()) {
    Json result = Json::Object();
    for (const auto& [name, item] : value.members()) {
      QB_ASSIGN_OR_RETURN(Json rewritten, RewriteJson(item, listing));
      result.Set(name, std::move(rewritten));
    }
    return result;
  }
  return absl::InvalidArgumentError(
      "the listing may hold only paths: strings, arrays of them and "
      "objects {input name: path}");
}

absl::StatusOr<std::string> RewriteJsonListing(const std::string& text, Listing& listing) {
  QB_ASSIGN_OR_RETURN(const Json parsed, Json::Parse(text));
  QB_ASSIGN_OR_RETURN(const Json rewritten, RewriteJson(parsed, listing));
  return rewritten.Dump();
}

absl::StatusOr<std::string> RewriteTextListing(const std::string& text, Listing& listing) {
  std::string result;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view named = absl::StripAsciiWhitespace(line);
    if (!named.empty()) {
      QB_ASSIGN_OR_RETURN(const std::string path, AddListed(std::string(named), listing));
      absl::StrAppend(&result, path, "\n");
    }
  }
  return result;
}

bool IsListing(const std::string& path) {
  return absl::EndsWithIgnoreCase(path, ".txt") || absl::EndsWithIgnoreCase(path, ".json");
}

absl::Status AddSampleFolder(const std::string& path, Listing& listing) {
  QB_RETURN_IF_ERROR(listing.builder.AddFolder("", path));
  return listing.builder.size() > 0 ? absl::OkStatus()
                                    : absl::InvalidArgumentError("the folder has no files");
}

// Adds a listing under `name`, with the files that it names.
absl::Status AddListingFile(const std::string& path, const std::string& name, Listing& listing) {
  listing.folder = FolderOf(path);
  QB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxListingBytes));
  absl::StatusOr<std::string> rewritten = absl::EndsWithIgnoreCase(path, ".json")
                                              ? RewriteJsonListing(text, listing)
                                              : RewriteTextListing(text, listing);
  QB_RETURN_IF_ERROR(rewritten.status());
  if (listing.builder.size() == 0) {
    return absl::InvalidArgumentError("the listing names no samples");
  }
  if (listing.builder.Contains(name)) {
    return absl::InvalidArgumentError("the listing names itself as a sample");
  }
  return listing.builder.AddContent(name, *std::move(rewritten));
}

// Adds what `path` stands for. Returns the manifest's main entry: the listing or the file, "" for a
// folder.
absl::StatusOr<std::string> AddDataset(const std::string& path, Listing& listing) {
  if (IsFolder(path)) {
    QB_RETURN_IF_ERROR(AddSampleFolder(path, listing));
    return std::string();
  }
  const std::string name = FileName(path);
  QB_RETURN_IF_ERROR(IsListing(path) ? AddListingFile(path, name, listing)
                                     : listing.builder.AddFile(name, path));
  return name;
}

// The names in a folder of samples, without hidden ones and the labels, sorted.
absl::StatusOr<std::vector<std::string>> SampleNames(const std::string& path,
                                                     const std::string& labels) {
  std::vector<std::string> samples;
  std::error_code error;
  for (fs::directory_iterator entry(path, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!absl::StartsWith(name, ".") && !fs::equivalent(entry->path(), labels, ignored)) {
      samples.push_back(name);
    }
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat("folder '", path, "': ", error.message()));
  }
  if (samples.empty()) {
    return absl::InvalidArgumentError("the folder has no samples");
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

// A folder of samples cannot hold the labels too (they are no sample), so the samples move into a
// subfolder, named one by one in a listing.
absl::StatusOr<LocalManifest> CollectLabelledFolder(const std::string& path,
                                                    const std::string& labels) {
  QB_ASSIGN_OR_RETURN(const std::vector<std::string> samples, SampleNames(path, labels));
  ManifestBuilder builder;
  std::string listing;
  for (const std::string& name : samples) {
    if (name.find_first_of("\r\n") != std::string::npos) {
      return absl::InvalidArgumentError(
          "a sample's name has a line break, which no listing can hold");
    }
    const std::string inside = absl::StrCat("samples/", name);
    const std::string file = absl::StrCat(path, "/", name);
    QB_RETURN_IF_ERROR(IsFolder(file) ? builder.AddFolder(inside, file)
                                      : builder.AddFile(inside, file));
    absl::StrAppend(&listing, inside, "\n");
  }
  QB_RETURN_IF_ERROR(builder.AddContent("samples.txt", std::move(listing)));
  QB_RETURN_IF_ERROR(builder.AddFile("labels.csv", labels));
  return builder.Build("samples.txt");
}

absl::StatusOr<LocalManifest> CollectUnnamed(const std::string& path, const std::string& labels,
                                             std::string* labels_path) {
  if (!labels.empty() && IsFolder(path)) {
    *labels_path = "labels.csv";
    return CollectLabelledFolder(path, labels);
  }
  Listing listing;
  QB_ASSIGN_OR_RETURN(const std::string main, AddDataset(path, listing));
  if (!labels.empty()) {
    *labels_path = "labels/labels.csv";
    QB_RETURN_IF_ERROR(listing.builder.AddFile(*labels_path, labels));
  }
  return listing.builder.Build(main);
}

// The files of external data that an .onnx names beneath its folder; others become warnings.
absl::Status AddExternalData(const std::string& path, ManifestBuilder& builder,
                             std::vector<std::string>& warnings) {
  QB_ASSIGN_OR_RETURN(const FileMap map, FileMap::Open(path));
  for (const std::string& location : ExternalDataLocations(map.bytes())) {
    const std::string file = absl::StrCat(FolderOf(path), "/", location);
    std::error_code error;
    const bool usable = CheckManifestPath(location).ok() &&
                        !RelativeBeneath(FolderOf(path), file).empty() &&
                        fs::is_regular_file(file, error);
    if (usable) {
      QB_RETURN_IF_ERROR(builder.AddFile(location, file));
    } else {
      warnings.push_back(absl::StrCat("the model names external data '", location,
                                      "', which is no regular file beneath its folder: not sent"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LocalManifest> CollectModel(const std::string& path,
                                           std::vector<std::string>* warnings) {
  if (IsFolder(path)) {
    return CollectModelFolder(path);
  }
  ManifestBuilder builder;
  const std::string name = FileName(path);
  QB_RETURN_IF_ERROR(builder.AddFile(name, path));
  if (absl::EndsWithIgnoreCase(path, ".onnx")) {
    QB_RETURN_IF_ERROR(AddExternalData(path, builder, *warnings));
  }
  return builder.Build(name);
}

absl::StatusOr<LocalManifest> CollectDataset(const std::string& path, const std::string& labels,
                                             std::string* labels_path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat("data set '", path, "': no such file or folder"));
  }
  absl::StatusOr<LocalManifest> result = CollectUnnamed(path, labels, labels_path);
  if (!result.ok()) {
    return absl::Status(result.status().code(),
                        absl::StrCat("data set '", path, "': ", result.status().message()));
  }
  return result;
}

}  // namespace qb::client

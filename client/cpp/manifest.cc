#include "client/cpp/manifest.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxEntries = 100'000;
constexpr size_t kMaxPartBytes = 255;
constexpr size_t kMaxParts = 16;

// Regular files under `folder`, as paths relative to it.
absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (absl::StartsWith(name, ".")) {
      entry.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;  // a dangling link is not a regular file
    if (entry->is_regular_file(ignored)) {
      paths.push_back(entry->path().lexically_relative(folder).generic_string());
    }
    if (paths.size() > kMaxEntries) {
      return absl::InvalidArgumentError(
          absl::StrCat("folder '", folder, "': more than ", kMaxEntries, " files"));
    }
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat("folder '", folder, "': ", error.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

absl::Status CheckManifestPath(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  absl::string_view problem;
  for (const absl::string_view part : parts) {
    if (part.empty() || part == "." || part == "..") {
      problem = "an empty, '.' or '..' part";
    } else if (part.size() > kMaxPartBytes) {
      problem = "a part of more than 255 bytes";
    } else if (part.find('\\') != part.npos || part.find('\0') != part.npos) {
      problem = "a backslash or NUL";
    }
  }
  if (parts.size() > kMaxParts) {
    problem = "more than 16 parts";
  }
  if (!problem.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the file path '", path, "' cannot be sent: it has ", problem));
  }
  return absl::OkStatus();
}

bool ManifestBuilder::Contains(absl::string_view path) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [path](const Entry& entry) { return entry.path == path; });
}

absl::Status ManifestBuilder::Add(Entry entry) {
  QB_RETURN_IF_ERROR(CheckManifestPath(entry.path));
  entries_.push_back(std::move(entry));
  return absl::OkStatus();
}

absl::Status ManifestBuilder::AddFile(const std::string& path, const std::string& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) {
    return absl::NotFoundError(absl::StrCat("file '", file, "': no such file"));
  }
  if (!fs::is_regular_file(status)) {
    return absl::FailedPreconditionError(absl::StrCat("file '", file, "': not a regular file"));
  }
  return Add(Entry{.path = path, .file = file});
}

absl::Status ManifestBuilder::AddContent(const std::string& path, std::string content) {
  return Add(Entry{.path = path, .content = std::move(content)});
}

absl::Status ManifestBuilder::AddFolder(const std::string& prefix, const std::string& folder) {
  QB_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListFolder(folder));
  for (const std::string& path : paths) {
    const std::string full = prefix.empty() ? path : absl::StrCat(prefix, "/", path);
    QB_RETURN_IF_ERROR(AddFile(full, absl::StrCat(folder, "/", path)));
  }
  return absl::OkStatus();
}

absl::StatusOr<LocalManifest> ManifestBuilder::Build(const std::string& main) {
  // Equal folders give equal manifests: the order is that of the paths.
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.path < b.path; });
  for (size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].path == entries_[i - 1].path && entries_[i].file != entries_[i - 1].file) {
      return absl::InvalidArgumentError(absl::StrCat("the path '", entries_[i].path,
                                                     "' stands for two files: '", entries_[i].file,
                                                     "' and '", entries_[i - 1].file, "'"));
    }
  }
  entries_.erase(std::unique(entries_.begin(), entries_.end(),
                             [](const Entry& a, const Entry& b) { return a.path == b.path; }),
                 entries_.end());
  QB_CHECK_MSG(main.empty() || Contains(main), "no entry '", main, "'");

  LocalManifest result;
  result.manifest.set_main(main);
  for (Entry& entry : entries_) {
    LocalBlob blob;
    blob.file = std::move(entry.file);
    if (blob.file.empty()) {
      blob.sha256 = Sha256Hex(entry.content);
      blob.size_bytes = static_cast<int64_t>(entry.content.size());
      blob.content = std::move(entry.content);
    } else {
      std::error_code error;
      blob.size_bytes = static_cast<int64_t>(fs::file_size(blob.file, error));
      QB_ASSIGN_OR_RETURN(blob.sha256, Sha256HexOfFile(blob.file));
    }
    qbc::v1::ManifestEntry& out = *result.manifest.add_entries();
    out.set_path(entry.path);
    out.set_sha256(blob.sha256);
    out.set_size_bytes(blob.size_bytes);
    result.blobs.push_back(std::move(blob));
  }
  entries_.clear();
  return result;
}

}  // namespace qb::client

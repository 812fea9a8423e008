#include "server/service/manifest_check.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/digest.h"
#include "core/base/status_macros.h"

namespace qb::server {
namespace {

absl::Status BadPath(absl::string_view field, absl::string_view path, absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": '", absl::CHexEscape(path.substr(0, 300)), "': ", rule));
}

// Each folder of every path, so that "a" and "a/b" are found out in either order.
absl::Status CheckDisjoint(absl::string_view field, const qbc::v1::Manifest& manifest) {
  absl::flat_hash_set<absl::string_view> paths;
  for (const auto& entry : manifest.entries()) {
    if (!paths.insert(entry.path()).second) {
      return BadPath(field, entry.path(), "the path is there twice");
    }
  }
  for (const auto& entry : manifest.entries()) {
    const absl::string_view path = entry.path();
    for (size_t slash = path.find('/'); slash != absl::string_view::npos;
         slash = path.find('/', slash + 1)) {
      if (paths.contains(path.substr(0, slash))) {
        return BadPath(field, path, "one of its folders is also there as a file");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckManifestPath(absl::string_view field, absl::string_view path,
                               const ManifestLimits& limits) {
  if (absl::StrContains(path, '\0') || absl::StrContains(path, '\\')) {
    return BadPath(field, path, "a path has no NUL and no backslash");
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (static_cast<int>(parts.size()) > limits.max_parts) {
    return BadPath(field, path, absl::StrCat("a path has at most ", limits.max_parts, " parts"));
  }
  for (absl::string_view part : parts) {
    if (part.empty() || part == "." || part == "..") {
      return BadPath(field, path, "a path is relative, without empty parts, '.' and '..'");
    }
    if (static_cast<int>(part.size()) > limits.max_part_bytes) {
      return BadPath(
          field, path,
          absl::StrCat("a part of a path has at most ", limits.max_part_bytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckManifest(absl::string_view field, const qbc::v1::Manifest& manifest,
                           const ManifestLimits& limits) {
  if (manifest.entries_size() > limits.max_entries) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", manifest.entries_size(),
                                                   " entries, at most ", limits.max_entries));
  }
  bool has_main = manifest.main().empty();
  for (const auto& entry : manifest.entries()) {
    QB_RETURN_IF_ERROR(CheckManifestPath(absl::StrCat(field, ".path"), entry.path(), limits));
    if (!IsSha256Hex(entry.sha256())) {
      return BadPath(field, entry.path(), "sha256: expected 64 lower-case hex characters");
    }
    if (entry.size_bytes() < 0) {
      return BadPath(field, entry.path(), "size_bytes: expected 0 or more");
    }
    has_main = has_main || entry.path() == manifest.main();
  }
  if (!has_main) {
    return BadPath(absl::StrCat(field, ".main"), manifest.main(), "no entry has this path");
  }
  return CheckDisjoint(field, manifest);
}

}  // namespace qb::server

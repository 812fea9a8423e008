#include "core/package/package_manifest.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/digest.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/package/mblt.h"

namespace qb {

std::string DigestOf(absl::string_view bytes) { return Sha256Hex(bytes); }

std::string DigestOf(absl::Span<const absl::string_view> pieces) {
  Sha256 hash;
  for (const absl::string_view piece : pieces) {
    hash.Update(piece);
  }
  return hash.FinishHex();
}

Json CompleteManifest(absl::string_view format, const Json& manifest,
                      const std::vector<std::pair<std::string, std::string>>& digests) {
  Json full = Json::Object();
  full.Set("format", format);
  full.Set("format_version", absl::StrCat(kFormatMajor, ".", kFormatMinor));
  Json entries = Json::Object();
  for (const auto& [name, digest] : digests) {
    entries.Set(name, digest);
  }
  full.Set("entries", std::move(entries));
  for (const auto& [key, value] : manifest.members()) {
    full.Set(key, value);
  }
  return full;
}

absl::StatusOr<Json> CheckedManifest(const ZipReader& zip, absl::string_view format) {
  if (!zip.Has(kManifestEntry)) {
    return absl::InvalidArgumentError("not a package of this compiler (no manifest.json)");
  }
  absl::StatusOr<Json> manifest = Json::Parse(zip.entries().at(kManifestEntry));
  if (!manifest.ok()) {
    return absl::DataLossError(absl::StrCat("manifest.json: ", manifest.status().message()));
  }
  const std::string& found = (*manifest)["format"].as_string();
  const bool known = found == kMbltFormat || found == kMxqFormat;
  if (!known || (!format.empty() && found != format)) {
    return absl::InvalidArgumentError(
        absl::StrCat(known ? "a package of another kind" : "not a package of this compiler",
                     " (format '", found, "'", format.empty() ? "" : ", expected '", format,
                     format.empty() ? ")" : "')"));
  }
  const std::string& version = (*manifest)["format_version"].as_string();
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  int major = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &major)) {
    return absl::DataLossError(absl::StrCat("format_version '", version, "' is malformed"));
  }
  if (major > kFormatMajor) {
    return absl::UnimplementedError(absl::StrCat("format version ", version,
                                                 " is newer than this compiler, which reads up to ",
                                                 kFormatMajor));
  }
  const Json& digests = (*manifest)["entries"];
  for (const auto& [name, bytes] : zip.entries()) {
    if (name != kManifestEntry && digests[name].as_string() != DigestOf(bytes)) {
      return absl::DataLossError(absl::StrCat("entry '", name, "' does not match its digest"));
    }
  }
  return manifest;
}

absl::Status PrefixMessage(const absl::Status& status, absl::string_view prefix) {
  return WithFailureCode(absl::Status(status.code(), absl::StrCat(prefix, status.message())),
                         FailureCodeOf(status));
}

}  // namespace qb

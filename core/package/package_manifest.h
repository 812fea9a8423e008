// What the manifests of .mblt and .mxq have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/json.h"
#include "core/package/zip_reader.h"

namespace qb {

inline constexpr char kManifestEntry[] = "manifest.json";
// Readers refuse a higher major number and ignore unknown keys of a higher minor one.
inline constexpr int kFormatMajor = 1;
inline constexpr int kFormatMinor = 0;

std::string DigestOf(absl::string_view bytes);
std::string DigestOf(absl::Span<const absl::string_view> pieces);

// {format, format_version, entries{name: sha256}} followed by the members of `manifest`.
Json CompleteManifest(absl::string_view format, const Json& manifest,
                      const std::vector<std::pair<std::string, std::string>>& digests);

// Parses manifest.json and checks format ("" accepts both of ours), version, and the digest of every
// entry. Errors: InvalidArgument for a foreign file, Unimplemented for a newer one, DataLoss.
absl::StatusOr<Json> CheckedManifest(const ZipReader& zip, absl::string_view format);

// The same status with a longer message; payloads are kept.
absl::Status PrefixMessage(const absl::Status& status, absl::string_view prefix);

}  // namespace qb

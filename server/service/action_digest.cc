#include "server/service/action_digest.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/digest.h"

namespace qb::server {
namespace {

namespace pb = ::qbc::v1;

constexpr absl::string_view kVersion = "qbc-action-1";

// "<bytes>:<text>": no two lists of texts look the same.
void Add(absl::string_view text, std::string& out) {
  absl::StrAppend(&out, text.size(), ":", text);
}

// The order of entries means nothing: files end up in a folder.
void AddManifest(const pb::Manifest& manifest, std::string& out) {
  std::vector<const pb::ManifestEntry*> entries;
  for (const pb::ManifestEntry& entry : manifest.entries()) {
    entries.push_back(&entry);
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return a->path() < b->path(); });
  Add(manifest.main(), out);
  Add(absl::StrCat(entries.size()), out);
  for (const pb::ManifestEntry* entry : entries) {
    Add(entry->path(), out);
    Add(entry->sha256(), out);
    Add(absl::StrCat(entry->size_bytes()), out);
  }
}

}  // namespace

std::string ActionDigest(const pb::JobSpec& spec, absl::string_view identity_json) {
  std::string text;
  Add(kVersion, text);
  Add(absl::StrCat(static_cast<int>(spec.kind())), text);
  AddManifest(spec.model(), text);
  Add(absl::StrCat(spec.calibration_size()), text);
  for (const pb::Manifest& set : spec.calibration()) {
    AddManifest(set, text);
  }
  AddManifest(spec.evaluation(), text);
  Add(spec.evaluation_labels(), text);
  Add(spec.target_device(), text);
  Add(identity_json, text);
  return Sha256Hex(text);
}

}  // namespace qb::server

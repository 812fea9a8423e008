// Local files as a manifest: relative path, digest and size of each, plus where its bytes are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "proto/qbc/v1/blob.pb.h"

namespace qb::client {

// Where the bytes of one blob are: in a file, or (listings that the client rewrote) in memory.
struct LocalBlob {
  std::string sha256;
  int64_t size_bytes = 0;
  std::string file;  // empty: the bytes are `content`
  std::string content;
};

struct LocalManifest {
  qbc::v1::Manifest manifest;
  std::vector<LocalBlob> blobs;  // one an entry, in the order of the entries
};

// OK when `path` may stand in a manifest (see ManifestEntry.path); otherwise says which rule it
// breaks.
absl::Status CheckManifestPath(absl::string_view path);

// Collects entries; hashes them in Build. One thread.
class ManifestBuilder {
 public:
  // Errors: InvalidArgument when the path may not stand in a manifest or is there already with
  // another file, NotFound when there is no such file, FailedPrecondition when it is not a regular
  // one.
  absl::Status AddFile(const std::string& path, const std::string& file);
  absl::Status AddContent(const std::string& path, std::string content);

  // All regular files under `folder`, in the order of their paths, as `<prefix>/<relative path>`
  // (an empty prefix adds nothing). Files and folders whose name begins with a dot are left out;
  // links to folders are not followed.
  absl::Status AddFolder(const std::string& prefix, const std::string& folder);

  bool Contains(absl::string_view path) const;
  size_t size() const { return entries_.size(); }

  // Hashes every file. `main` must be the path of an entry, or empty. The builder is spent.
  absl::StatusOr<LocalManifest> Build(const std::string& main);

 private:
  struct Entry {
    std::string path;
    std::string file;
    std::string content;
  };
  absl::Status Add(Entry entry);

  std::vector<Entry> entries_;
};

}  // namespace qb::client

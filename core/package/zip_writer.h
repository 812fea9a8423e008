// Writes a ZIP archive of stored (never deflated) entries whose data start on 64-byte boundaries.
//
// Layout of an entry:   local header | name | extra field 0x7142 (padding) | data
// All dates are 1980-01-01, so equal contents give equal bytes. Sizes and offsets above 4 GiB use
// ZIP64 records. Source: PKWARE APPNOTE 6.3.9.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/atomic_file.h"

namespace qb {

// One thread. The file appears under its name only with Finish().
class ZipWriter {
 public:
  static absl::StatusOr<ZipWriter> Create(const std::string& path);

  // `pieces` are written one after the other. Entry names are ASCII, relative, unique.
  absl::Status Add(absl::string_view name, absl::Span<const absl::string_view> pieces);
  absl::Status Add(absl::string_view name, absl::string_view bytes);
  // Writes the central directory and commits the file.
  absl::Status Finish();

 private:
  struct Entry {
    std::string name;
    uint32_t crc = 0;
    uint64_t size = 0;
    uint64_t offset = 0;
  };

  explicit ZipWriter(AtomicFile file) : file_(std::move(file)) {}

  AtomicFile file_;
  std::vector<Entry> entries_;
};

}  // namespace qb

// Reads the archives that ZipWriter writes, from hostile bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb {

// A view of the entries of an archive that lies in memory. The views live as long as those bytes.
class ZipReader {
 public:
  // Checks the directory, every local header, that entries are stored, lie inside the file and do not
  // overlap, and every CRC. Errors: DataLoss saying what is wrong; InvalidArgument when the bytes are
  // no ZIP archive at all.
  static absl::StatusOr<ZipReader> Open(absl::string_view bytes);

  // Errors: DataLoss when there is no such entry.
  absl::StatusOr<absl::string_view> Entry(absl::string_view name) const;
  bool Has(absl::string_view name) const { return entries_.count(std::string(name)) != 0; }
  const std::map<std::string, absl::string_view>& entries() const { return entries_; }

 private:
  std::map<std::string, absl::string_view> entries_;
};

}  // namespace qb

// ZIP archives that other programs wrote (.npz, .pt): entries stored or deflated. Every byte is
// hostile. Packages of our own are read by core/package, which maps them and is stricter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb {

class Archive {
 public:
  struct Entry {
    std::string name;
    bool deflated = false;
    uint32_t crc = 0;
    uint64_t size = 0;  // bytes of the content
    absl::string_view stored;
  };

  // Reads the directory and finds every entry's bytes; `bytes` outlives the archive.
  //
  // Errors: InvalidArgument saying what is wrong: no ZIP archive, other bytes before it, entries
  // that lie outside, share bytes or share a name, are encrypted, are packed in another way, or say
  // that they unpack to more than deflate can make of them; archives above 4 GiB.
  static absl::StatusOr<Archive> Open(absl::string_view bytes);

  // In the order of the directory.
  const std::vector<Entry>& entries() const { return entries_; }
  // Null when there is none.
  const Entry* Find(absl::string_view name) const;

  // The content. Errors: InvalidArgument when it is damaged (checksum) or has another size.
  static absl::StatusOr<std::string> Read(const Entry& entry);

 private:
  std::vector<Entry> entries_;
};

}  // namespace qb

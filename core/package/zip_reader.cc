#include "core/package/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/package/zip_format.h"

namespace qb {
namespace {

constexpr uint64_t kMostEntries = 10000;

// Little-endian reads that never leave the buffer: past the end they give 0 and clear `ok`.
class ByteReader {
 public:
  explicit ByteReader(absl::string_view bytes) : bytes_(bytes) {}
  uint64_t Read(uint64_t offset, int width) {
    if (offset > bytes_.size() || bytes_.size() - offset < static_cast<uint64_t>(width)) {
      ok_ = false;
      return 0;
    }
    uint64_t value = 0;
    for (int i = width; i-- > 0;) {
      value = (value << 8) | static_cast<unsigned char>(bytes_[offset + static_cast<uint64_t>(i)]);
    }
    return value;
  }
  bool ok() const { return ok_; }

 private:
  absl::string_view bytes_;
  bool ok_ = true;
};

absl::Status Corrupt(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the package is damaged: ", what));
}

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
};

absl::StatusOr<Directory> FindDirectory(absl::string_view bytes) {
  ByteReader reader(bytes);
  // Our archives have no comment, so the end record is at a fixed place.
  if (bytes.size() < zip::kEndBytes || reader.Read(0, 4) != zip::kLocalHeaderMagic) {
    return absl::InvalidArgumentError("not a package of this compiler (no ZIP archive)");
  }
  const uint64_t end = bytes.size() - zip::kEndBytes;
  if (reader.Read(end, 4) != zip::kEndMagic) {
    return Corrupt("the end record is missing (truncated file?)");
  }
  Directory directory{reader.Read(end + 16, 4), reader.Read(end + 12, 4), reader.Read(end + 10, 2)};
  if (directory.offset == zip::kMax32) {
    if (end < zip::kZip64LocatorBytes ||
        reader.Read(end - zip::kZip64LocatorBytes, 4) != zip::kZip64LocatorMagic) {
      return Corrupt("the ZIP64 locator is missing");
    }
    const uint64_t record = reader.Read(end - zip::kZip64LocatorBytes + 8, 8);
    if (reader.Read(record, 4) != zip::kZip64EndMagic) {
      return Corrupt("the ZIP64 end record is missing");
    }
    directory = {reader.Read(record + 48, 8), reader.Read(record + 40, 8),
                 reader.Read(record + 32, 8)};
  }
  if (!reader.ok() || directory.offset > bytes.size() ||
      directory.size > bytes.size() - directory.offset || directory.count > kMostEntries) {
    return Corrupt("the directory lies outside the file");
  }
  return directory;
}

struct RawEntry {
  std::string name;
  uint64_t size = 0;
  uint64_t offset = 0;
  uint32_t crc = 0;
  uint64_t record_bytes = 0;
};

absl::StatusOr<RawEntry> ReadCentralHeader(absl::string_view bytes, uint64_t at) {
  ByteReader reader(bytes);
  if (reader.Read(at, 4) != zip::kCentralHeaderMagic) {
    return Corrupt("a directory record is malformed");
  }
  const uint64_t flags = reader.Read(at + 8, 2);
  const uint64_t method = reader.Read(at + 10, 2);
  const uint64_t name_size = reader.Read(at + 28, 2);
  const uint64_t extra_size = reader.Read(at + 30, 2);
  const uint64_t comment_size = reader.Read(at + 32, 2);
  RawEntry entry;
  entry.crc = static_cast<uint32_t>(reader.Read(at + 16, 4));
  const uint64_t compressed = reader.Read(at + 20, 4);
  entry.size = reader.Read(at + 24, 4);
  entry.offset = reader.Read(at + 42, 4);
  const uint64_t name_at = at + zip::kCentralHeaderBytes;
  entry.record_bytes = zip::kCentralHeaderBytes + name_size + extra_size + comment_size;
  if (!reader.ok() || flags != 0 || method != 0 || compressed != entry.size || name_size == 0 ||
      at + entry.record_bytes > bytes.size()) {
    return Corrupt("a directory record is malformed or the entry is compressed");
  }
  entry.name = std::string(bytes.substr(name_at, name_size));
  if (entry.size == zip::kMax32) {
    const uint64_t extra_at = name_at + name_size;
    if (extra_size < 28 || reader.Read(extra_at, 2) != zip::kZip64Extra) {
      return Corrupt("a ZIP64 record is malformed");
    }
    entry.size = reader.Read(extra_at + 4, 8);
    entry.offset = reader.Read(extra_at + 20, 8);
  }
  return entry;
}

// The entry's data, after its local header.
absl::StatusOr<absl::string_view> ReadData(absl::string_view bytes, const RawEntry& entry) {
  ByteReader reader(bytes);
  if (entry.offset >= bytes.size() || reader.Read(entry.offset, 4) != zip::kLocalHeaderMagic) {
    return Corrupt(absl::StrCat("entry '", entry.name, "' has no header"));
  }
  const uint64_t data = entry.offset + zip::kLocalHeaderBytes + reader.Read(entry.offset + 26, 2) +
                        reader.Read(entry.offset + 28, 2);
  if (!reader.ok() || data > bytes.size() || entry.size > bytes.size() - data) {
    return Corrupt(absl::StrCat("entry '", entry.name, "' lies outside the file"));
  }
  const absl::string_view content = bytes.substr(data, entry.size);
  const auto crc = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(content.data()), content.size()));
  if (crc != entry.crc) {
    return Corrupt(absl::StrCat("entry '", entry.name, "' has a wrong checksum"));
  }
  return content;
}

absl::Status CheckNoOverlap(const std::map<std::string, absl::string_view>& entries) {
  std::vector<absl::string_view> views;
  for (const auto& [name, view] : entries) {
    if (!view.empty()) {
      views.push_back(view);
    }
  }
  std::sort(views.begin(), views.end(),
            [](absl::string_view a, absl::string_view b) { return a.data() < b.data(); });
  for (size_t i = 1; i < views.size(); ++i) {
    if (views[i - 1].data() + views[i - 1].size() > views[i].data()) {
      return Corrupt("entries overlap");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ZipReader> ZipReader::Open(absl::string_view bytes) {
  QB_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(bytes));
  ZipReader reader;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    QB_ASSIGN_OR_RETURN(const RawEntry entry, ReadCentralHeader(bytes, at));
    at += entry.record_bytes;
    if (at > directory.offset + directory.size) {
      return Corrupt("the directory is longer than it says");
    }
    QB_ASSIGN_OR_RETURN(const absl::string_view content, ReadData(bytes, entry));
    if (!reader.entries_.emplace(entry.name, content).second) {
      return Corrupt(absl::StrCat("entry '", entry.name, "' is there twice"));
    }
  }
  QB_RETURN_IF_ERROR(CheckNoOverlap(reader.entries_));
  return reader;
}

absl::StatusOr<absl::string_view> ZipReader::Entry(absl::string_view name) const {
  const auto found = entries_.find(std::string(name));
  if (found == entries_.end()) {
    return Corrupt(absl::StrCat("entry '", name, "' is missing"));
  }
  return found->second;
}

}  // namespace qb

#include "core/dataset/archive.h"

#include <zlib.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

// Source of the layout: PKWARE APPNOTE 6.3.9.
constexpr absl::string_view kLocalMagic("PK\x03\x04", 4);
constexpr absl::string_view kCentralMagic("PK\x01\x02", 4);
constexpr absl::string_view kEndMagic("PK\x05\x06", 4);
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr uint32_t kSeeZip64 = 0xffffffff;
constexpr uint64_t kMostRatio = 1032;  // of deflate
constexpr uint64_t kMostUnpacked = uint64_t{4} << 30;

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("damaged archive: ", what));
}

uint64_t At(absl::string_view bytes, size_t position, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) {
    value = value << 8 | static_cast<uint8_t>(bytes[position + i]);
  }
  return value;
}

// One record of the directory, not yet looked up in the file.
struct Record {
  std::string name;
  uint64_t flags = 0, method = 0, crc = 0, packed = 0, size = 0, offset = 0;
};

// Replaces what a record leaves to its ZIP64 field: size, packed size, offset, in this order.
absl::Status ApplyZip64(absl::string_view extra, Record& record) {
  while (extra.size() >= 4) {
    const size_t id = At(extra, 0, 2), length = At(extra, 2, 2);
    if (length > extra.size() - 4) {
      return Bad("an extra field that is cut off");
    }
    absl::string_view field = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != 1) {
      continue;
    }
    for (uint64_t* value : {&record.size, &record.packed, &record.offset}) {
      if (*value == kSeeZip64 && field.size() >= 8) {
        *value = At(field, 0, 8);
        field.remove_prefix(8);
      }
    }
  }
  return absl::OkStatus();
}

// Reads the record at the front of `directory` and removes it.
absl::StatusOr<Record> TakeRecord(absl::string_view& directory) {
  if (directory.size() < kCentralBytes || !absl::StartsWith(directory, kCentralMagic)) {
    return Bad("its directory is cut off");
  }
  const size_t name_bytes = At(directory, 28, 2), extra_bytes = At(directory, 30, 2);
  const size_t all = kCentralBytes + name_bytes + extra_bytes + At(directory, 32, 2);
  if (directory.size() < all) {
    return Bad("its directory is cut off");
  }
  Record record;
  record.name = std::string(directory.substr(kCentralBytes, name_bytes));
  record.flags = At(directory, 8, 2);
  record.method = At(directory, 10, 2);
  record.crc = At(directory, 16, 4);
  record.packed = At(directory, 20, 4);
  record.size = At(directory, 24, 4);
  record.offset = At(directory, 42, 4);
  QB_RETURN_IF_ERROR(ApplyZip64(directory.substr(kCentralBytes + name_bytes, extra_bytes), record));
  directory.remove_prefix(all);
  return record;
}

absl::StatusOr<Archive::Entry> Locate(absl::string_view bytes, Record record) {
  const std::string shown = absl::StrCat("entry '", record.name.substr(0, 80), "' ");
  if ((record.flags & 1) != 0) {
    return Bad(absl::StrCat(shown, "is encrypted"));
  }
  if (record.method != 0 && record.method != 8) {
    return Bad(absl::StrCat(shown, "is packed by method ", record.method,
                            "; stored and deflated ones are read"));
  }
  if (record.offset > bytes.size() || bytes.size() - record.offset < kLocalBytes ||
      bytes.substr(record.offset, 4) != kLocalMagic) {
    return Bad(absl::StrCat(shown, "does not begin where the directory says"));
  }
  const uint64_t begin = record.offset + kLocalBytes + At(bytes, record.offset + 26, 2) +
                         At(bytes, record.offset + 28, 2);
  if (begin > bytes.size() || record.packed > bytes.size() - begin) {
    return Bad(absl::StrCat(shown, "is cut off"));
  }
  const bool deflated = record.method == 8;
  const bool possible =
      deflated ? record.size <= (record.packed + 1) * kMostRatio && record.size <= kMostUnpacked
               : record.size == record.packed;
  if (!possible) {
    return Bad(absl::StrCat(shown, "of ", record.packed, " bytes cannot hold ", record.size));
  }
  return Archive::Entry{std::move(record.name), deflated, static_cast<uint32_t>(record.crc),
                        record.size, bytes.substr(begin, record.packed)};
}

// The position of the end record: its comment must reach the file's end exactly.
absl::StatusOr<size_t> FindEnd(absl::string_view bytes) {
  if (bytes.size() < kEndBytes || !absl::StartsWith(bytes, "PK")) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a ZIP archive (", bytes.size(), " bytes without its signature)"));
  }
  const size_t reach = std::min<size_t>(bytes.size(), kEndBytes + 65535);
  for (size_t back = kEndBytes; back <= reach; ++back) {
    const size_t at = bytes.size() - back;
    if (bytes.substr(at, 4) == kEndMagic && At(bytes, at + 20, 2) == back - kEndBytes) {
      return at;
    }
  }
  return Bad("it has no end record: cut off?");
}

absl::Status CheckApart(const std::vector<Archive::Entry>& entries) {
  std::vector<absl::string_view> spans;
  std::set<absl::string_view> names;
  for (const Archive::Entry& entry : entries) {
    if (!names.insert(entry.name).second) {
      return Bad(absl::StrCat("two entries are called '", entry.name.substr(0, 80), "'"));
    }
    if (!entry.stored.empty()) {
      spans.push_back(entry.stored);
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](absl::string_view a, absl::string_view b) { return a.data() < b.data(); });
  for (size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].data() < spans[i - 1].data() + spans[i - 1].size()) {
      return Bad("entries share bytes");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Archive> Archive::Open(absl::string_view bytes) {
  QB_ASSIGN_OR_RETURN(const size_t end, FindEnd(bytes));
  const uint64_t count = At(bytes, end + 10, 2);
  const uint64_t size = At(bytes, end + 12, 4), offset = At(bytes, end + 16, 4);
  if (count == 0xffff || size == kSeeZip64 || offset == kSeeZip64) {
    return Bad("it is larger than 4 GiB or has more than 65534 entries");
  }
  if (offset > end || size > end - offset) {
    return Bad("its directory lies outside");
  }
  if (offset + size != end) {
    // Some writers put a ZIP64 end record and its locator between, even where none is needed.
    constexpr size_t kZip64Records = 56 + 20;
    if (end - offset - size != kZip64Records ||
        bytes.substr(offset + size, 4) != absl::string_view("PK\x06\x06", 4)) {
      return Bad("other bytes stand before it");
    }
  }
  absl::string_view directory = bytes.substr(offset, size);
  Archive archive;
  for (uint64_t i = 0; i < count; ++i) {
    QB_ASSIGN_OR_RETURN(Record record, TakeRecord(directory));
    QB_ASSIGN_OR_RETURN(Entry entry, Locate(bytes.substr(0, offset), std::move(record)));
    archive.entries_.push_back(std::move(entry));
  }
  QB_RETURN_IF_ERROR(CheckApart(archive.entries_));
  return archive;
}

const Archive::Entry* Archive::Find(absl::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

absl::StatusOr<std::string> Archive::Read(const Entry& entry) {
  std::string content;
  if (!entry.deflated) {
    content = std::string(entry.stored);
  } else {
    content.resize(entry.size);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
      return absl::ResourceExhaustedError("no memory for zlib");
    }
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(entry.stored.data()));
    stream.avail_in = static_cast<uInt>(entry.stored.size());
    stream.next_out = reinterpret_cast<Bytef*>(content.data());
    stream.avail_out = static_cast<uInt>(std::min<uint64_t>(content.size(), UINT32_MAX));
    const int result = inflate(&stream, Z_FINISH);
    const bool whole = result == Z_STREAM_END && stream.total_out == entry.size;
    inflateEnd(&stream);
    if (!whole) {
      return Bad(absl::StrCat("entry '", entry.name.substr(0, 80), "' does not unpack to ",
                              entry.size, " bytes"));
    }
  }
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (crc != entry.crc) {
    return Bad(absl::StrCat("entry '", entry.name.substr(0, 80), "' has a wrong checksum"));
  }
  return content;
}

}  // namespace qb

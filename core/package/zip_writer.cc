#include "core/package/zip_writer.h"

#include <zlib.h>

#include <algorithm>

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/package/zip_format.h"

namespace qb {
namespace {

void Put16(std::string& out, uint64_t value) {
  out.push_back(static_cast<char>(value & 0xFF));
  out.push_back(static_cast<char>((value >> 8) & 0xFF));
}
void Put32(std::string& out, uint64_t value) {
  Put16(out, value & 0xFFFF);
  Put16(out, (value >> 16) & 0xFFFF);
}
void Put64(std::string& out, uint64_t value) {
  Put32(out, value & 0xFFFFFFFF);
  Put32(out, value >> 32);
}

uint64_t Capped32(uint64_t value) { return std::min<uint64_t>(value, zip::kMax32); }

uint32_t Crc32(uint32_t crc, absl::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// The extra field of a local header: sizes above 4 GiB, and the padding that aligns the bytes.
template <typename Entry>
std::string LocalExtra(const Entry& entry) {
  std::string extra;
  if (entry.size >= zip::kMax32) {
    Put16(extra, zip::kZip64Extra);
    Put16(extra, 16);
    Put64(extra, entry.size);
    Put64(extra, entry.size);
  }
  const uint64_t unpadded =
      entry.offset + zip::kLocalHeaderBytes + entry.name.size() + extra.size() + 4;
  const uint64_t padding = (zip::kAlignment - unpadded % zip::kAlignment) % zip::kAlignment;
  Put16(extra, zip::kPaddingExtra);
  Put16(extra, padding);
  extra.append(padding, '\0');
  return extra;
}

template <typename Entry>
std::string LocalHeader(const Entry& entry, size_t extra_bytes) {
  std::string header;
  Put32(header, zip::kLocalHeaderMagic);
  Put16(header, entry.size >= zip::kMax32 ? 45 : 20);
  Put16(header, 0);  // flags
  Put16(header, 0);  // stored
  Put16(header, 0);  // 00:00:00
  Put16(header, zip::kFixedDate);
  Put32(header, entry.crc);
  Put32(header, Capped32(entry.size));
  Put32(header, Capped32(entry.size));
  Put16(header, entry.name.size());
  Put16(header, extra_bytes);
  return header;
}

template <typename Entry>
void AppendCentralRecord(const Entry& entry, std::string& directory) {
  std::string extra;
  const bool zip64 = entry.size >= zip::kMax32 || entry.offset >= zip::kMax32;
  if (zip64) {
    Put16(extra, zip::kZip64Extra);
    Put16(extra, 24);
    Put64(extra, entry.size);
    Put64(extra, entry.size);
    Put64(extra, entry.offset);
  }
  Put32(directory, zip::kCentralHeaderMagic);
  Put16(directory, 45);
  Put16(directory, zip64 ? 45 : 20);
  Put16(directory, 0);
  Put16(directory, 0);
  Put16(directory, 0);
  Put16(directory, zip::kFixedDate);
  Put32(directory, entry.crc);
  Put32(directory, zip64 ? zip::kMax32 : entry.size);
  Put32(directory, zip64 ? zip::kMax32 : entry.size);
  Put16(directory, entry.name.size());
  Put16(directory, extra.size());
  Put16(directory, 0);
  Put16(directory, 0);
  Put16(directory, 0);
  Put32(directory, 0);
  Put32(directory, zip64 ? zip::kMax32 : entry.offset);
  directory.append(entry.name);
  directory.append(extra);
}

// What follows the records of `entries` files in the directory, which starts at `offset`.
void AppendEnd(uint64_t offset, size_t entries, std::string& directory) {
  const uint64_t size = directory.size();
  if (offset >= zip::kMax32) {
    Put32(directory, zip::kZip64EndMagic);
    Put64(directory, 44);
    Put16(directory, 45);
    Put16(directory, 45);
    Put32(directory, 0);
    Put32(directory, 0);
    Put64(directory, entries);
    Put64(directory, entries);
    Put64(directory, size);
    Put64(directory, offset);
    Put32(directory, zip::kZip64LocatorMagic);
    Put32(directory, 0);
    Put64(directory, offset + size);
    Put32(directory, 1);
  }
  Put32(directory, zip::kEndMagic);
  Put16(directory, 0);
  Put16(directory, 0);
  Put16(directory, entries);
  Put16(directory, entries);
  Put32(directory, size);
  Put32(directory, Capped32(offset));
  Put16(directory, 0);
}

}  // namespace

absl::StatusOr<ZipWriter> ZipWriter::Create(const std::string& path) {
  QB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  return ZipWriter(std::move(file));
}

absl::Status ZipWriter::Add(absl::string_view name, absl::string_view bytes) {
  return Add(name, absl::Span<const absl::string_view>(&bytes, 1));
}

absl::Status ZipWriter::Add(absl::string_view name, absl::Span<const absl::string_view> pieces) {
  Entry entry{std::string(name), 0, 0, static_cast<uint64_t>(file_.size_bytes())};
  for (const absl::string_view piece : pieces) {
    entry.crc = Crc32(entry.crc, piece);
    entry.size += piece.size();
  }
  const std::string extra = LocalExtra(entry);
  const std::string header = LocalHeader(entry, extra.size());
  QB_RETURN_IF_ERROR(file_.Append(header));
  QB_RETURN_IF_ERROR(file_.Append(name));
  QB_RETURN_IF_ERROR(file_.Append(extra));
  QB_CHECK(file_.size_bytes() % static_cast<int64_t>(zip::kAlignment) == 0);
  for (const absl::string_view piece : pieces) {
    QB_RETURN_IF_ERROR(file_.Append(piece));
  }
  entries_.push_back(std::move(entry));
  return absl::OkStatus();
}

absl::Status ZipWriter::Finish() {
  const uint64_t directory_offset = static_cast<uint64_t>(file_.size_bytes());
  std::string directory;
  for (const Entry& entry : entries_) {
    AppendCentralRecord(entry, directory);
  }
  AppendEnd(directory_offset, entries_.size(), directory);
  QB_RETURN_IF_ERROR(file_.Append(directory));
  return file_.Commit();
}

}  // namespace qb

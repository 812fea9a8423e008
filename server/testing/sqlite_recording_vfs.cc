#include "server/testing/sqlite_recording_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"

#include "core/base/check.h"

namespace qb::server::testing {
namespace {

constexpr size_t kSectorBytes = 512;

// SQLite asks for this much and calls through it; the real file lies behind it.
struct RecordingFile {
  sqlite3_file base;
  SqliteRecordingVfs* recorder;
  char name[64];

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

// The objects that SQLite knows by pointer; used by one recorder at a time.
struct Globals {
  sqlite3_vfs vfs;
  sqlite3_vfs* real = nullptr;
  SqliteRecordingVfs* recorder = nullptr;
};

Globals& TheGlobals() {
  static Globals globals = {};
  return globals;
}

RecordingFile* Self(sqlite3_file* file) { return reinterpret_cast<RecordingFile*>(file); }

std::string LastPart(const char* path) {
  const std::string text = path == nullptr ? "" : path;
  return text.substr(text.rfind('/') + 1);
}

int Close(sqlite3_file* file) { return Self(file)->real()->pMethods->xClose(Self(file)->real()); }
int Read(sqlite3_file* file, void* out, int bytes, sqlite3_int64 offset) {
  return Self(file)->real()->pMethods->xRead(Self(file)->real(), out, bytes, offset);
}
int Write(sqlite3_file* file, const void* data, int bytes, sqlite3_int64 offset) {
  RecordingFile* self = Self(file);
  self->recorder->Add({DiskRecord::Kind::kWrite, self->name, offset,
                       std::string(static_cast<const char*>(data), static_cast<size_t>(bytes))});
  return self->real()->pMethods->xWrite(self->real(), data, bytes, offset);
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  RecordingFile* self = Self(file);
  self->recorder->Add({DiskRecord::Kind::kTruncate, self->name, size, ""});
  return self->real()->pMethods->xTruncate(self->real(), size);
}
int Sync(sqlite3_file* file, int flags) {
  RecordingFile* self = Self(file);
  const int code = self->real()->pMethods->xSync(self->real(), flags);
  if (code == SQLITE_OK) {
    self->recorder->Add({DiskRecord::Kind::kSync, self->name, 0, ""});
  }
  return code;
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return Self(file)->real()->pMethods->xFileSize(Self(file)->real(), size);
}
int Lock(sqlite3_file* file, int lock) {
  return Self(file)->real()->pMethods->xLock(Self(file)->real(), lock);
}
int Unlock(sqlite3_file* file, int lock) {
  return Self(file)->real()->pMethods->xUnlock(Self(file)->real(), lock);
}
int CheckReservedLock(sqlite3_file* file, int* out) {
  return Self(file)->real()->pMethods->xCheckReservedLock(Self(file)->real(), out);
}
int FileControl(sqlite3_file* file, int what, void* argument) {
  return Self(file)->real()->pMethods->xFileControl(Self(file)->real(), what, argument);
}
int SectorSize(sqlite3_file* file) {
  return Self(file)->real()->pMethods->xSectorSize(Self(file)->real());
}
int DeviceCharacteristics(sqlite3_file* /*file*/) {
  return 0;  // promises nothing: no atomic writes, no order
}
int ShmMap(sqlite3_file* file, int region, int bytes, int extend, void volatile** out) {
  return Self(file)->real()->pMethods->xShmMap(Self(file)->real(), region, bytes, extend, out);
}
int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return Self(file)->real()->pMethods->xShmLock(Self(file)->real(), offset, count, flags);
}
void ShmBarrier(sqlite3_file* file) {
  Self(file)->real()->pMethods->xShmBarrier(Self(file)->real());
}
int ShmUnmap(sqlite3_file* file, int remove) {
  return Self(file)->real()->pMethods->xShmUnmap(Self(file)->real(), remove);
}

// Version 2: shared memory, but no memory-mapped pages, whose writes nobody would see.
constexpr sqlite3_io_methods kMethods = {2,
                                         Close,
                                         Read,
                                         Write,
                                         Truncate,
                                         Sync,
                                         FileSize,
                                         Lock,
                                         Unlock,
                                         CheckReservedLock,
                                         FileControl,
                                         SectorSize,
                                         DeviceCharacteristics,
                                         ShmMap,
                                         ShmLock,
                                         ShmBarrier,
                                         ShmUnmap,
                                         nullptr,
                                         nullptr};

int OpenFile(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags, int* out) {
  Globals& globals = TheGlobals();
  RecordingFile* self = Self(file);
  self->recorder = globals.recorder;
  std::strncpy(self->name, LastPart(name).c_str(), sizeof(self->name) - 1);
  self->name[sizeof(self->name) - 1] = '\0';
  const int code = globals.real->xOpen(globals.real, name, self->real(), flags, out);
  // SQLite closes only what has methods.
  self->base.pMethods = self->real()->pMethods != nullptr ? &kMethods : nullptr;
  return code;
}

int DeleteFile(sqlite3_vfs* /*vfs*/, const char* name, int sync_folder) {
  Globals& globals = TheGlobals();
  globals.recorder->Add({DiskRecord::Kind::kDelete, LastPart(name), 0, ""});
  return globals.real->xDelete(globals.real, name, sync_folder);
}

// A file as it certainly is, and what may have come since.
struct DiskFile {
  bool exists = false;  // certainly: synced once
  std::string synced;
  std::vector<const DiskRecord*> since;
};

void Apply(const DiskRecord& record, size_t begin, size_t end, std::string& content) {
  const size_t at = static_cast<size_t>(record.offset) + begin;
  if (content.size() < at + (end - begin)) {
    content.resize(at + (end - begin), '\0');
  }
  std::copy(record.bytes.begin() + static_cast<ptrdiff_t>(begin),
            record.bytes.begin() + static_cast<ptrdiff_t>(end),
            content.begin() + static_cast<ptrdiff_t>(at));
}

void ApplyWhole(const DiskRecord& record, std::string& content) {
  if (record.kind == DiskRecord::Kind::kTruncate) {
    content.resize(static_cast<size_t>(record.offset), '\0');
  } else {
    Apply(record, 0, record.bytes.size(), content);
  }
}

// The files after the first `count` records: what is certain, and what may have come since.
std::map<std::string, DiskFile> ReplayRecords(const std::vector<DiskRecord>& records, size_t count,
                                              const PowerCut& cut) {
  std::map<std::string, DiskFile> disk;
  for (size_t i = 0; i < count; ++i) {
    const DiskRecord& record = records[i];
    if (record.kind == DiskRecord::Kind::kNote) {
      continue;
    }
    DiskFile& file = disk[record.file];
    if (record.kind == DiskRecord::Kind::kDelete) {
      file = DiskFile();
    } else if (record.kind != DiskRecord::Kind::kSync) {
      file.since.push_back(&record);
    } else if (cut.ignored_syncs.empty() || !absl::EndsWith(record.file, cut.ignored_syncs)) {
      for (const DiskRecord* change : file.since) {
        ApplyWhole(*change, file.synced);
      }
      file.since.clear();
      file.exists = true;
    }
  }
  return disk;
}

// Writes each sector of a write with the probability `keep`; true when one was written.
bool ApplySomeSectors(const DiskRecord& write, double keep, std::mt19937_64& random,
                      std::string& content) {
  std::uniform_real_distribution<double> draw(0, 1);
  bool written = false;
  for (size_t begin = 0; begin < write.bytes.size();) {
    // Sectors are those of the disk, not of the write.
    const size_t in_sector = (static_cast<size_t>(write.offset) + begin) % kSectorBytes;
    const size_t end = std::min(write.bytes.size(), begin + kSectorBytes - in_sector);
    if (draw(random) < keep) {
      Apply(write, begin, end, content);
      written = true;
    }
    begin = end;
  }
  return written;
}

}  // namespace

SqliteRecordingVfs::SqliteRecordingVfs() {
  Globals& globals = TheGlobals();
  QB_CHECK(globals.recorder == nullptr);
  globals.recorder = this;
  globals.real = sqlite3_vfs_find(nullptr);
  globals.vfs = *globals.real;
  globals.vfs.zName = "recording";
  globals.vfs.szOsFile = static_cast<int>(sizeof(RecordingFile)) + globals.real->szOsFile;
  globals.vfs.xOpen = OpenFile;
  globals.vfs.xDelete = DeleteFile;
  sqlite3_vfs_register(&globals.vfs, /*makeDflt=*/1);
}

SqliteRecordingVfs::~SqliteRecordingVfs() {
  Globals& globals = TheGlobals();
  sqlite3_vfs_unregister(&globals.vfs);
  sqlite3_vfs_register(globals.real, /*makeDflt=*/1);
  globals.recorder = nullptr;
}

void SqliteRecordingVfs::Add(DiskRecord record) {
  absl::MutexLock lock(&mutex_);
  records_.push_back(std::move(record));
}

std::vector<DiskRecord> SqliteRecordingVfs::records() const {
  absl::MutexLock lock(&mutex_);
  return records_;
}

std::map<std::string, std::string> FilesAfterPowerCut(const std::vector<DiskRecord>& records,
                                                      size_t count, const PowerCut& cut,
                                                      std::mt19937_64& random) {
  std::map<std::string, DiskFile> disk = ReplayRecords(records, count, cut);
  std::uniform_real_distribution<double> draw(0, 1);
  std::map<std::string, std::string> files;
  for (auto& [name, file] : disk) {
    bool exists = file.exists;
    for (const DiskRecord* change : file.since) {
      if (change->kind != DiskRecord::Kind::kTruncate) {
        exists = ApplySomeSectors(*change, cut.keep, random, file.synced) || exists;
      } else if (draw(random) < cut.keep) {
        ApplyWhole(*change, file.synced);
      }
    }
    if (exists) {
      files[name] = std::move(file.synced);
    }
  }
  return files;
}

}  // namespace qb::server::testing

// Records what SQLite does to its files, so that a power cut can be played at any moment: what was
// synced is there, what was not may be there, be missing, or be there in part.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace qb::server::testing {

// One change of a file, a sync of it, or a note of the test.
struct DiskRecord {
  enum class Kind { kWrite, kTruncate, kSync, kDelete, kNote };
  Kind kind = Kind::kNote;
  std::string file;    // the last part of its path
  int64_t offset = 0;  // kTruncate: the new size
  std::string bytes;
};

// What a disk is supposed to do in a power cut.
struct PowerCut {
  // Keeps every 512-byte sector of an unsynced write with this probability.
  double keep = 0.5;
  // A disk, or a program, that is lying: syncs of files with this ending count for nothing.
  std::string ignored_syncs;
};

// Replaces SQLite's default file system for as long as it lives; there is one at a time.
class SqliteRecordingVfs {
 public:
  SqliteRecordingVfs();
  ~SqliteRecordingVfs();
  SqliteRecordingVfs(const SqliteRecordingVfs&) = delete;
  SqliteRecordingVfs& operator=(const SqliteRecordingVfs&) = delete;

  // Goes into the list between the changes of the disk.
  void Note() { Add({}); }
  std::vector<DiskRecord> records() const;

  // For the wrapped files.
  void Add(DiskRecord record);

 private:
  mutable absl::Mutex mutex_;
  std::vector<DiskRecord> records_ ABSL_GUARDED_BY(mutex_);
};

// The files after a power cut behind the first `count` of `records`.
std::map<std::string, std::string> FilesAfterPowerCut(const std::vector<DiskRecord>& records,
                                                      size_t count, const PowerCut& cut,
                                                      std::mt19937_64& random);

}  // namespace qb::server::testing

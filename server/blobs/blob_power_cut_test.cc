// Power cuts at every moment of uploads: a blob whose row was written has its bytes under its name,
// an upload has the bytes that it was said to have. What the program does to the disk is recorded
// where it calls the system; the test is proved by disks that lie.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/digest.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "server/blobs/blob_store.h"
#include "server/testing/fake_clock.h"
#include "server/testing/memory_blob_index.h"

namespace qb::server {
namespace {

struct Record {
  enum class Kind { kWrite, kSync, kSyncFolder, kRename, kMakeFolder, kBlobRow, kUploadRow };
  Kind kind = Kind::kWrite;
  std::string path;
  std::string other;   // kRename: the new path; rows: the digest or the upload's bytes
  int64_t offset = 0;  // kUploadRow: bytes that are said to be stored
};

// The list that the calls below add to; null: nothing is recorded.
std::vector<Record>*& Records() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the calls have no other way
  static std::vector<Record>* records = nullptr;
  return records;
}

void Note(Record record) {
  if (Records() != nullptr) {
    Records()->push_back(std::move(record));
  }
}

std::string PathOf(int fd) {
  std::array<char, 4096> path = {};
  const ssize_t size =
      readlink(absl::StrCat("/proc/self/fd/", fd).c_str(), path.data(), path.size() - 1);
  return size > 0 ? std::string(path.data(), static_cast<size_t>(size)) : "";
}

bool IsFolder(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
}

template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int SyncAndNote(int fd, const char* name) {
  const int result = Real<int (*)(int)>(name)(fd);
  if (result == 0) {
    Note({IsFolder(fd) ? Record::Kind::kSyncFolder : Record::Kind::kSync, PathOf(fd), "", 0});
  }
  return result;
}

}  // namespace
}  // namespace qb::server

// These stand before those of the C library for everything in this program.
extern "C" {
ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  using qb::server::Record;
  const ssize_t written = qb::server::Real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(
      fd, data, bytes, offset);
  if (written > 0) {
    qb::server::Note({Record::Kind::kWrite, qb::server::PathOf(fd),
                      std::string(static_cast<const char*>(data), static_cast<size_t>(written)),
                      offset});
  }
  return written;
}
int fsync(int fd) { return qb::server::SyncAndNote(fd, "fsync"); }
int fdatasync(int fd) { return qb::server::SyncAndNote(fd, "fdatasync"); }
int rename(const char* from, const char* to) noexcept {
  using qb::server::Record;
  const int result = qb::server::Real<int (*)(const char*, const char*)>("rename")(from, to);
  if (result == 0) {
    qb::server::Note({Record::Kind::kRename, from, to, 0});
  }
  return result;
}
int mkdir(const char* path, mode_t mode) noexcept {
  using qb::server::Record;
  const int result = qb::server::Real<int (*)(const char*, mode_t)>("mkdir")(path, mode);
  if (result == 0) {
    qb::server::Note({Record::Kind::kMakeFolder, path, "", 0});
  }
  return result;
}
}

namespace qb::server {
namespace {

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// A disk of which only what was synced is certain.
class Disk {
 public:
  Disk(double keep, std::mt19937_64& random) : keep_(keep), random_(random) {}

  void Do(const Record& record) {
    switch (record.kind) {
      case Record::Kind::kWrite:
        Name(record.path);
        files_[names_[record.path]].since.push_back(&record);
        break;
      case Record::Kind::kSync:
        SyncFile(files_[names_[record.path]]);
        break;
      case Record::Kind::kSyncFolder:
        for (const auto& [path, file] : names_) {
          if (FolderOf(path) == record.path) {
            certain_[path] = file;
          }
        }
        for (const std::string& gone : gone_[record.path]) {
          if (!names_.contains(gone)) {
            certain_.erase(gone);
          }
        }
        gone_.erase(record.path);
        break;
      case Record::Kind::kRename:
        names_[record.other] = names_[record.path];
        names_.erase(record.path);
        gone_[FolderOf(record.path)].insert(record.path);
        break;
      case Record::Kind::kMakeFolder:
        Name(record.path);
        break;
      case Record::Kind::kBlobRow:
      case Record::Kind::kUploadRow:
        break;
    }
  }

  // Loses what was not synced, or keeps some of it.
  void CutPower() {
    for (const auto& [path, file] : names_) {
      if (Keeps()) {
        certain_[path] = file;
      }
    }
    for (auto& [id, file] : files_) {
      for (const Record* write : file.since) {
        if (Keeps()) {
          Apply(*write, file.bytes);
        }
      }
      file.since.clear();
    }
  }

  // The bytes under a name whose folders are all there. `root` was there before.
  const std::string* Read(const std::string& path, const std::string& root) const {
    for (std::string folder = FolderOf(path); folder.size() > root.size();
         folder = FolderOf(folder)) {
      if (!certain_.contains(folder)) {
        return nullptr;
      }
    }
    const auto it = certain_.find(path);
    return it == certain_.end() ? nullptr : &files_.at(it->second).bytes;
  }

 private:
  struct File {
    std::string bytes;
    std::vector<const Record*> since;
  };

  bool Keeps() { return std::uniform_real_distribution<double>(0, 1)(random_) < keep_; }

  void Name(const std::string& path) {
    if (!names_.contains(path)) {
      names_[path] = next_++;
      files_[names_[path]];
    }
  }
  static void Apply(const Record& write, std::string& bytes) {
    const size_t end = static_cast<size_t>(write.offset) + write.other.size();
    bytes.resize(std::max(bytes.size(), end), '\0');
    bytes.replace(static_cast<size_t>(write.offset), write.other.size(), write.other);
  }
  static void SyncFile(File& file) {
    for (const Record* write : file.since) {
      Apply(*write, file.bytes);
    }
    file.since.clear();
  }

  const double keep_;
  std::mt19937_64& random_;
  int next_ = 1;
  std::map<std::string, int> names_;                   // as the program sees them
  std::map<std::string, int> certain_;                 // as they are after a power cut
  std::map<std::string, std::set<std::string>> gone_;  // folder -> names that were taken away
  std::map<int, File> files_;
};

// Notes what the rows promise, at the moment at which they do.
class NotingIndex final : public testing::MemoryBlobIndex {
 public:
  explicit NotingIndex(std::string folder) : folder_(std::move(folder)) {}

  absl::Status AddBlob(const UploadRecord& upload, int64_t now_ms) override {
    Note({Record::Kind::kBlobRow,
          absl::StrCat(folder_, "/blobs/", upload.sha256.substr(0, 2), "/", upload.sha256),
          upload.sha256, 0});
    return MemoryBlobIndex::AddBlob(upload, now_ms);
  }
  absl::Status PutUpload(const UploadRecord& upload, int64_t now_ms) override {
    Note({Record::Kind::kUploadRow,
          absl::StrCat(folder_, "/uploads/", upload.tenant, ".", upload.id), upload.id,
          upload.committed_bytes});
    return MemoryBlobIndex::PutUpload(upload, now_ms);
  }

 private:
  const std::string folder_;
};

class BlobPowerCutTest : public ::testing::Test {
 protected:
  static constexpr int kUploads = 12;

  void SetUp() override {
    Records() = &records_;
    BlobStoreOptions options;
    options.checkpoint_bytes = 3000;
    auto store = BlobStore::Create(root_, index_, clock_, options);
    QB_ASSERT_OK(store.status());
    for (int i = 0; i < kUploads; ++i) {
      Upload(**store, absl::StrCat("u", i), Bytes(i));
    }
    Records() = nullptr;
  }
  void TearDown() override { Records() = nullptr; }

  static std::string Bytes(int which) {
    std::string bytes(static_cast<size_t>(1000 + which * 900), '\0');
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>(i * 7 + static_cast<size_t>(which));
    }
    return bytes;
  }

  void Upload(BlobStore& store, const std::string& id, const std::string& bytes) {
    QB_ASSERT_OK_AND_ASSIGN(
        auto upload, store.StartUpload(
                         {"default", id, Sha256Hex(bytes), static_cast<int64_t>(bytes.size()), 0}));
    for (size_t at = 0; at < bytes.size(); at += 1000) {
      QB_ASSERT_OK(upload->Append(absl::string_view(bytes).substr(at, 1000)));
    }
    QB_ASSERT_OK(upload->Finish());
  }

  // Promises that are broken when power goes behind the first `count` records.
  int Broken(const std::vector<Record>& records, size_t count, double keep) {
    Disk disk(keep, random_);
    std::set<std::string> blobs;
    std::map<std::string, int64_t> uploads;
    for (size_t i = 0; i < count; ++i) {
      disk.Do(records[i]);
      if (records[i].kind == Record::Kind::kBlobRow) {
        blobs.insert(records[i].path);
      } else if (records[i].kind == Record::Kind::kUploadRow) {
        uploads[records[i].path] = records[i].offset;
      } else if (records[i].kind == Record::Kind::kRename) {
        uploads.erase(records[i].path);  // it becomes a blob
      }
    }
    disk.CutPower();
    int broken = 0;
    for (const std::string& path : blobs) {
      const std::string* bytes = disk.Read(path, root_);
      broken += bytes != nullptr && absl::EndsWith(path, Sha256Hex(*bytes)) ? 0 : 1;
    }
    for (const auto& [path, committed] : uploads) {
      const std::string* bytes = disk.Read(path, root_);
      broken += bytes != nullptr && static_cast<int64_t>(bytes->size()) >= committed ? 0 : 1;
    }
    return broken;
  }

  int BrokenAnywhere(const std::vector<Record>& records) {
    int broken = 0;
    for (size_t count = 0; count <= records.size(); ++count) {
      for (double keep : {0.0, 0.5, 1.0}) {
        broken += Broken(records, count, keep);
      }
    }
    return broken;
  }

  std::vector<Record> Without(Record::Kind kind) const {
    std::vector<Record> rest;
    for (const Record& record : records_) {
      if (record.kind != kind) {
        rest.push_back(record);
      }
    }
    return rest;
  }

  qb::testing::TempDir folder_;
  const std::string root_ = folder_.File("data");
  testing::FakeClock clock_;
  NotingIndex index_{root_};
  std::mt19937_64 random_{1};
  std::vector<Record> records_;
};

TEST_F(BlobPowerCutTest, KeepsEveryPromise) {
  int rows = 0;
  for (const Record& record : records_) {
    rows += record.kind == Record::Kind::kBlobRow ? 1 : 0;
  }
  ASSERT_EQ(rows, kUploads);  // the recording works
  EXPECT_EQ(BrokenAnywhere(records_), 0);
}

TEST_F(BlobPowerCutTest, FindsFoldersThatAreNotSynced) {
  EXPECT_GT(BrokenAnywhere(Without(Record::Kind::kSyncFolder)), 0);
}

TEST_F(BlobPowerCutTest, FindsFilesThatAreNotSynced) {
  EXPECT_GT(BrokenAnywhere(Without(Record::Kind::kSync)), 0);
}

}  // namespace
}  // namespace qb::server

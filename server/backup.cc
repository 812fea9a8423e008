#include "server/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "server/auth/credential_file.h"
#include "server/jobs/sqlite_backup.h"
#include "server/process/file_lock.h"
#include "server/runtime/durable_files.h"

namespace qb::server {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr int kMaxTries = 5;
constexpr char kDatabase[] = "qbc.db";
constexpr char kNewDatabase[] = "qbc.db.new";

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Copies through an AtomicFile, so that a file of its final name is whole and synced. Returns the
// SHA-256. Errors: NotFound when `from` is gone.
absl::StatusOr<std::string> CopyFile(const std::string& from, const std::string& to) {
  const Descriptor in(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (in.get() < 0) {
    return FileError(errno, "open", from);
  }
  QB_ASSIGN_OR_RETURN(AtomicFile out, AtomicFile::Create(to));
  Sha256 digest;
  std::vector<char> piece(kPieceBytes);
  while (true) {
    const ssize_t got = read(in.get(), piece.data(), piece.size());
    if (got < 0) {
      return FileError(errno, "read", from);
    }
    if (got == 0) {
      break;
    }
    const absl::string_view bytes(piece.data(), static_cast<size_t>(got));
    digest.Update(bytes);
    QB_RETURN_IF_ERROR(out.Append(bytes));
  }
  QB_RETURN_IF_ERROR(out.Commit());
  return digest.FinishHex();
}

// Whether `output` may become a backup.
absl::Status CheckOutput(const std::string& data_dir, const std::string& output) {
  std::error_code error;
  if (!fs::exists(output, error)) {
    return absl::OkStatus();
  }
  if (fs::equivalent(data_dir, output, error)) {
    return absl::FailedPreconditionError("--output: that is the data folder itself");
  }
  if (!fs::is_directory(output, error)) {
    return absl::FailedPreconditionError(absl::StrCat("--output: '", output, "' is not a folder"));
  }
  // The new database is there in a first backup that was broken off.
  const bool earlier = fs::exists(absl::StrCat(output, "/", kDatabase), error) ||
                       fs::exists(absl::StrCat(output, "/", kNewDatabase), error) ||
                       fs::exists(output + "/lock", error);
  return earlier || fs::is_empty(output, error)
             ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   absl::StrCat("--output: '", output,
                                "' is neither empty nor an earlier backup: choose another folder"));
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  return path;
}

class Backup {
 public:
  Backup(const std::string& data_dir, const std::string& output)
      : data_dir_(WithoutSlash(data_dir)), output_(WithoutSlash(output)) {}

  absl::StatusOr<BackupFigures> Run() {
    QB_RETURN_IF_ERROR(CheckOutput(data_dir_, output_));
    QB_RETURN_IF_ERROR(MakeFolders(output_));
    QB_ASSIGN_OR_RETURN(const FileLock lock,
                        FileLock::Take(output_ + "/lock", "--output is in use"));
    const std::string copy = Output(kNewDatabase);
    absl::Status copied;
    for (int tries = 0; tries < kMaxTries; ++tries) {
      copied = CopyDatabaseAndBlobs(copy);
      if (!absl::IsNotFound(copied)) {
        break;  // else a blob that nobody needs any more was removed since: a newer database
                // does not speak of it
      }
    }
    QB_RETURN_IF_ERROR(absl::IsNotFound(copied) ? absl::DataLossError(copied.message()) : copied);
    QB_RETURN_IF_ERROR(CopyLogs());
    QB_RETURN_IF_ERROR(CopyCredentials());
    // From here on it is the new backup.
    if (rename(copy.c_str(), Output(kDatabase).c_str()) != 0) {
      return FileError(errno, "rename", copy);
    }
    QB_RETURN_IF_ERROR(SyncFolder(output_));
    RemoveUnknown("blobs");
    RemoveUnknown("logs");
    return figures_;
  }

 private:
  std::string Data(absl::string_view name) const { return absl::StrCat(data_dir_, "/", name); }
  std::string Output(absl::string_view name) const { return absl::StrCat(output_, "/", name); }

  void RemoveFile(const char* name) const {
    std::error_code error;
    fs::remove(Output(name), error);
    fs::remove(Output(absl::StrCat(name, "-journal")), error);
  }

  // The database first: what it speaks of is there then.
  absl::Status CopyDatabaseAndBlobs(const std::string& copy) {
    RemoveFile(kNewDatabase);
    known_.clear();
    figures_.blobs = 0;
    QB_RETURN_IF_ERROR(BackUpDatabase(Data(kDatabase), copy));
    return ForEachBlob(
        copy, [this](absl::string_view sha256, int64_t size) { return CopyBlob(sha256, size); });
  }

  absl::Status CopyBlob(absl::string_view sha256, int64_t size_bytes) {
    const std::string name = absl::StrCat("blobs/", sha256.substr(0, 2), "/", sha256);
    known_.insert(name);
    ++figures_.blobs;
    std::error_code error;
    if (fs::file_size(Output(name), error) == static_cast<uintmax_t>(size_bytes) && !error) {
      return absl::OkStatus();
    }
    const absl::StatusOr<std::string> copied = CopyFile(Data(name), Output(name));
    QB_RETURN_IF_ERROR(copied.status());
    if (*copied != sha256) {
      fs::remove(Output(name), error);
      return absl::DataLossError(
          absl::StrCat("'", Data(name), "' has other bytes: its SHA-256 is ", *copied));
    }
    ++figures_.copied_blobs;
    figures_.copied_bytes += size_bytes;
    return absl::OkStatus();
  }

  // A log may grow, and lose its middle, while it is copied.
  absl::Status CopyLogs() {
    std::error_code error;
    for (fs::recursive_directory_iterator at(Data("logs"), error), end; !error && at != end;
         at.increment(error)) {
      std::error_code gone;
      if (!at->is_regular_file(gone)) {
        continue;
      }
      const std::string name = at->path().lexically_relative(data_dir_).string();
      known_.insert(name);
      const uintmax_t size_bytes = at->file_size(gone);
      if (fs::file_size(Output(name), gone) == size_bytes && !gone) {
        continue;
      }
      absl::Status copied = CopyFile(Data(name), Output(name)).status();
      if (!copied.ok() && !absl::IsNotFound(copied)) {
        return copied;
      }
      ++figures_.logs;
    }
    return absl::OkStatus();
  }

  absl::Status CopyCredentials() const {
    const std::string from = CredentialFilePath(data_dir_);
    const std::string to = CredentialFilePath(output_);
    std::error_code error;
    if (!fs::exists(from, error)) {
      fs::remove(to, error);
      return absl::OkStatus();
    }
    QB_RETURN_IF_ERROR(CopyFile(from, to).status());
    fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, error);
    return error ? FileError(error.value(), "chmod", to) : absl::OkStatus();
  }

  // What an earlier backup had and this one has not.
  void RemoveUnknown(const char* folder) const {
    std::error_code error;
    std::vector<fs::path> unknown;
    for (fs::recursive_directory_iterator at(Output(folder), error), end; !error && at != end;
         at.increment(error)) {
      if (at->is_regular_file() &&
          known_.count(at->path().lexically_relative(output_).string()) == 0) {
        unknown.push_back(at->path());
      }
    }
    for (const fs::path& path : unknown) {
      fs::remove(path, error);
    }
  }

  const std::string data_dir_;
  const std::string output_;
  BackupFigures figures_;
  std::set<std::string> known_;  // names beneath the folder
};

}  // namespace

absl::StatusOr<BackupFigures> BackUpDataFolder(const std::string& data_dir,
                                               const std::string& output) {
  return Backup(data_dir, output).Run();
}

}  // namespace qb::server

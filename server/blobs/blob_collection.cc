// The half of BlobStore that removes what nobody needs.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/blobs/blob_store.h"
#include "server/runtime/durable_files.h"

namespace qb::server {
namespace {

// Few enough that a commit between those of the users stays short.
constexpr int kBatch = 200;

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

void BlobStore::LockDigest(const std::string& sha256) {
  absl::MutexLock lock(&mutex_);
  const auto is_free = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !locked_digests_.contains(sha256);
  };
  mutex_.Await(absl::Condition(&is_free));
  locked_digests_.insert(sha256);
}

bool BlobStore::TryLockDigest(const std::string& sha256) {
  absl::MutexLock lock(&mutex_);
  return locked_digests_.insert(sha256).second;
}

void BlobStore::UnlockDigest(const std::string& sha256) {
  absl::MutexLock lock(&mutex_);
  locked_digests_.erase(sha256);
}

// The files go first, for good, then the note that they have to.
absl::StatusOr<int64_t> BlobStore::RemoveDoomed(absl::Span<const std::string> digests) {
  int64_t bytes = 0;
  std::set<std::string> folders;
  for (const std::string& digest : digests) {
    const std::string path = BlobPath(digest);
    struct stat info = {};
    bytes += stat(path.c_str(), &info) == 0 ? info.st_size : 0;
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      return FileError(errno, "remove", path);
    }
    folders.insert(FolderOf(path));
  }
  for (const std::string& folder : folders) {
    QB_RETURN_IF_ERROR(SyncFolder(folder));
  }
  QB_RETURN_IF_ERROR(index_.ForgetDoomed(digests));
  return bytes;
}

absl::Status BlobStore::CollectBatch(absl::Span<const UnusedBlob> blobs, int64_t before_ms,
                                     BlobCollection& collection) {
  std::vector<UnusedBlob> locked;
  locked.reserve(blobs.size());
  std::set<std::string> digests;
  for (const UnusedBlob& blob : blobs) {
    // One that is busy is being uploaded, so it is used.
    if (digests.contains(blob.sha256) || TryLockDigest(blob.sha256)) {
      digests.insert(blob.sha256);
      locked.push_back(blob);
    }
  }
  absl::StatusOr<std::vector<std::string>> doomed = index_.RemoveUnused(locked, before_ms);
  absl::Status status = doomed.status();
  if (status.ok()) {
    const absl::StatusOr<int64_t> bytes = RemoveDoomed(*doomed);
    status = bytes.status();
    if (bytes.ok()) {
      collection.blobs += static_cast<int64_t>(doomed->size());
      collection.bytes += *bytes;
    }
  }
  for (const std::string& digest : digests) {
    UnlockDigest(digest);
  }
  return status;
}

absl::StatusOr<int64_t> BlobStore::CollectUploads(int64_t before_ms) {
  QB_ASSIGN_OR_RETURN(const std::vector<UploadRecord> uploads, index_.FindOldUploads(before_ms));
  int64_t removed = 0;
  for (const UploadRecord& upload : uploads) {
    {
      // Taken as a stream would take it: none can begin meanwhile.
      absl::MutexLock lock(&mutex_);
      if (!open_uploads_.insert(PartPath(upload.tenant, upload.id)).second) {
        continue;
      }
    }
    const absl::StatusOr<bool> gone = index_.RemoveOldUpload(upload, before_ms);
    if (gone.ok() && *gone) {
      unlink(PartPath(upload.tenant, upload.id).c_str());
      ++removed;
    }
    Release(upload);
    QB_RETURN_IF_ERROR(gone.status());
  }
  return removed;
}

absl::StatusOr<BlobCollection> BlobStore::CollectUnused(int64_t before_ms,
                                                        const std::function<bool()>& stop) {
  BlobCollection collection;
  QB_ASSIGN_OR_RETURN(collection.uploads, CollectUploads(before_ms));
  std::optional<UnusedBlob> last;
  while (!stop()) {
    QB_ASSIGN_OR_RETURN(const std::vector<UnusedBlob> batch,
                        index_.FindUnused(before_ms, last, kBatch));
    if (batch.empty()) {
      break;
    }
    last = batch.back();
    QB_RETURN_IF_ERROR(CollectBatch(batch, before_ms, collection));
  }
  return collection;
}

absl::StatusOr<int64_t> BlobStore::SweepFolder(int folder) {
  const std::string path =
      absl::StrCat(folder_, "/blobs/", absl::Hex(folder % 256, absl::kZeroPad2));
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) {
    return absl::InternalError(absl::StrCat("list '", path, "': ", error.message()));
  }
  QB_ASSIGN_OR_RETURN(const std::vector<std::string> suspects, index_.FindUnknown(names));
  int64_t removed = 0;
  for (const std::string& name : suspects) {
    if (!TryLockDigest(name)) {
      continue;
    }
    // Asked again under the lock: an upload gives its file a row before it lets go.
    const absl::StatusOr<std::vector<std::string>> unknown = index_.FindUnknown({name});
    if (unknown.ok() && !unknown->empty() && unlink(absl::StrCat(path, "/", name).c_str()) == 0) {
      ++removed;
    }
    UnlockDigest(name);
    QB_RETURN_IF_ERROR(unknown.status());
  }
  return removed;
}

}  // namespace qb::server

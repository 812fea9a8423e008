// Files by their SHA-256. Bytes are hashed while they arrive and are in their place, synced, before
// the row that names them is written: a row without a file cannot come to be.
//
//   <folder>/blobs/ab/ab12...   complete blobs (64 hex characters)
//   <folder>/uploads/<tenant>.<upload id>   bytes that have arrived
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include "core/base/digest.h"
#include "server/blobs/blob_index.h"
#include "server/runtime/clock.h"

namespace qb::server {

struct BlobStoreOptions {
  // Larger blobs are refused. Default 16 GiB.
  int64_t max_blob_bytes = int64_t{16} << 30;
  // An upload syncs and notes its position after this many bytes. Smaller: less is sent again after
  // a break, more syncs. Default 8 MiB.
  int64_t checkpoint_bytes = int64_t{8} << 20;
  // Uploads are refused when less than this is free on the disk. Default 256 MiB.
  int64_t min_free_bytes = int64_t{256} << 20;
};

// Held while an upload is open; whoever gave it notices the end.
using UploadTicket = std::shared_ptr<void>;

struct UploadRequest {
  std::string tenant;
  std::string upload_id;
  std::string sha256;
  int64_t size_bytes = 0;
  int64_t offset = 0;
  // Asked when bytes are to come: the blob is not there yet. Null: everything may come.
  std::function<absl::StatusOr<UploadTicket>(const UploadRequest&)> admit = nullptr;
};

// What one pass over unused files did.
struct BlobCollection {
  int64_t blobs = 0;  // files that are gone from the disk
  int64_t bytes = 0;  // in them
  int64_t uploads = 0;
};

struct UploadState {
  int64_t committed_bytes = 0;  // synced
  bool complete = false;        // the blob is stored for this tenant
};

class BlobStore;

// One stream of bytes into an upload. Holds the upload's id: no second one can be open. One thread
// at a time. Destroying it keeps what the last checkpoint noted, and nothing without one.
class BlobUpload {
 public:
  ~BlobUpload();
  BlobUpload(const BlobUpload&) = delete;
  BlobUpload& operator=(const BlobUpload&) = delete;

  // True when the blob was stored already or is now; no more bytes are needed.
  bool complete() const { return complete_; }
  // All bytes have come; Finish will complete the blob.
  bool has_all() const { return complete_ || received_ == record_.size_bytes; }

  // Errors: InvalidArgument for more bytes than announced (the upload is dropped);
  // ResourceExhausted when the disk is full.
  absl::Status Append(absl::string_view bytes);
  // Ends the stream: completes the blob when all bytes are here, otherwise notes the position.
  // Errors: InvalidArgument when the digest does not agree (the upload is dropped).
  absl::StatusOr<UploadState> Finish();

 private:
  friend class BlobStore;
  BlobUpload(BlobStore& store, UploadRecord record) : store_(store), record_(std::move(record)) {}
  absl::Status Checkpoint();
  absl::Status Complete();
  absl::Status MoveIntoPlace();
  void Drop();

  BlobStore& store_;
  UploadRecord record_;
  UploadTicket ticket_;
  std::string path_;
  int fd_ = -1;
  Sha256 hash_;
  int64_t received_ = 0;
  bool noted_ = false;  // the upload has a row
  bool complete_ = false;
};

// An open blob. Thread-safe; its bytes stay readable whatever happens to the file.
class BlobFile {
 public:
  BlobFile(int fd, int64_t size_bytes) : fd_(fd), size_bytes_(size_bytes) {}
  ~BlobFile();
  BlobFile(const BlobFile&) = delete;
  BlobFile& operator=(const BlobFile&) = delete;

  int64_t size_bytes() const { return size_bytes_; }
  // Up to `max_bytes` from `offset`; empty only at the end.
  absl::StatusOr<std::string> Read(int64_t offset, int64_t max_bytes) const;

 private:
  const int fd_;
  const int64_t size_bytes_;
};

// Thread-safe. Calls wait for the disk.
class BlobStore {
 public:
  // Makes the folders, removes files of uploads that have no row, and finishes what CollectUnused
  // had begun. `index` and `clock` outlive it.
  static absl::StatusOr<std::unique_ptr<BlobStore>> Create(const std::string& folder,
                                                           BlobIndex& index, const Clock& clock,
                                                           BlobStoreOptions options);

  // Errors: InvalidArgument (digest, size, id); OutOfRange (offset beyond what is synced); Aborted
  // (another stream has this upload open); ResourceExhausted (size, disk); those of
  // UploadRequest.admit.
  absl::StatusOr<std::unique_ptr<BlobUpload>> StartUpload(const UploadRequest& request);
  // `sha256` may be "".
  absl::StatusOr<UploadState> QueryUpload(absl::string_view tenant, absl::string_view upload_id,
                                          absl::string_view sha256);
  // Errors: NotFound.
  absl::StatusOr<std::unique_ptr<BlobFile>> Open(absl::string_view tenant,
                                                 absl::string_view sha256);
  absl::StatusOr<std::vector<std::optional<int64_t>>> FindSizes(
      absl::string_view tenant, absl::Span<const std::string> digests);

  // As FindSizes; what is there stays for a while, so that a job may be made of it.
  absl::StatusOr<std::vector<std::optional<int64_t>>> FindAndKeep(
      absl::string_view tenant, absl::Span<const std::string> digests);

  // Removes blobs that nothing has referred to since `before_ms`, and uploads that have not moved
  // since. A blob that is uploaded at the same moment stays. `stop` is asked now and then.
  absl::StatusOr<BlobCollection> CollectUnused(int64_t before_ms,
                                               const std::function<bool()>& stop);
  // Removes files without a row from one of the 256 folders: a power cut can leave them. Returns
  // how many.
  absl::StatusOr<int64_t> SweepFolder(int folder);

  const BlobStoreOptions& options() const { return options_; }

 private:
  friend class BlobUpload;
  BlobStore(std::string folder, BlobIndex& index, const Clock& clock, BlobStoreOptions options)
      : folder_(std::move(folder)), index_(index), clock_(clock), options_(options) {}
  absl::Status RemoveOrphans();
  absl::Status CheckRoom() const;
  absl::Status OpenPart(BlobUpload& upload, int64_t offset);
  std::string BlobPath(absl::string_view sha256) const;
  std::string PartPath(absl::string_view tenant, absl::string_view upload_id) const;
  void Release(const UploadRecord& record);
  // The file of a digest is given its name and its row, or loses both, by one thread at a time.
  void LockDigest(const std::string& sha256);
  bool TryLockDigest(const std::string& sha256);
  void UnlockDigest(const std::string& sha256);
  // The bytes of the files that were still there.
  absl::StatusOr<int64_t> RemoveDoomed(absl::Span<const std::string> digests);
  // Adds what it removes to `collection`.
  absl::Status CollectBatch(absl::Span<const UnusedBlob> blobs, int64_t before_ms,
                            BlobCollection& collection);
  absl::StatusOr<int64_t> CollectUploads(int64_t before_ms);

  const std::string folder_;
  BlobIndex& index_;
  const Clock& clock_;
  const BlobStoreOptions options_;
  absl::Mutex mutex_;
  absl::flat_hash_set<std::string> open_uploads_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> locked_digests_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server

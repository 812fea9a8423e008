#include "server/blobs/blob_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/runtime/durable_files.h"

namespace qb::server {
namespace {

constexpr size_t kMaxUploadIdBytes = 64;
constexpr int64_t kHashPieceBytes = int64_t{1} << 20;

bool IsUploadId(absl::string_view id) {
  return !id.empty() && id.size() <= kMaxUploadIdBytes &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '-' || c == '_';
         });
}

absl::Status CheckRequest(const UploadRequest& request, int64_t max_blob_bytes) {
  if (!IsSha256Hex(request.sha256)) {
    return absl::InvalidArgumentError("header.sha256: expected 64 lower-case hex characters");
  }
  if (!IsUploadId(request.upload_id)) {
    return absl::InvalidArgumentError("header.upload_id: expected 1 to 64 of [A-Za-z0-9_-]");
  }
  if (request.size_bytes < 0 || request.offset < 0 || request.offset > request.size_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("header: offset ", request.offset, " and size ",
                                                   request.size_bytes,
                                                   ": expected 0 <= offset <= size"));
  }
  if (request.size_bytes > max_blob_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("header.size_bytes: ", request.size_bytes,
                                                     ", this server takes up to ", max_blob_bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckDigests(absl::Span<const std::string> digests) {
  for (const std::string& digest : digests) {
    if (!IsSha256Hex(digest)) {
      return absl::InvalidArgumentError(
          absl::StrCat("sha256: '", digest, "': expected 64 lower-case hex characters"));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteAll(int fd, absl::string_view bytes, int64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return FileError(errno, "write", path);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadPiece(int fd, int64_t offset, int64_t bytes) {
  std::string piece(static_cast<size_t>(bytes), '\0');
  size_t filled = 0;
  while (filled < piece.size()) {
    const ssize_t got = pread(fd, piece.data() + filled, piece.size() - filled,
                              offset + static_cast<int64_t>(filled));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return FileError(errno, "read", "blob");
    }
    if (got == 0) {
      break;
    }
    filled += static_cast<size_t>(got);
  }
  piece.resize(filled);
  return piece;
}

// The 256 folders of all first two digits, with one sync for all their names.
absl::Status MakeBlobFolders(const std::string& parent) {
  constexpr absl::string_view kHex = "0123456789abcdef";
  for (char high : kHex) {
    for (char low : kHex) {
      const std::string path = absl::StrCat(parent, "/", std::string({high, low}));
      if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        return FileError(errno, "make the folder", path);
      }
    }
  }
  return SyncFolder(parent);
}

}  // namespace

// ---- BlobFile

BlobFile::~BlobFile() { close(fd_); }

absl::StatusOr<std::string> BlobFile::Read(int64_t offset, int64_t max_bytes) const {
  if (offset < 0 || offset >= size_bytes_ || max_bytes <= 0) {
    return std::string();
  }
  QB_ASSIGN_OR_RETURN(std::string piece,
                      ReadPiece(fd_, offset, std::min(max_bytes, size_bytes_ - offset)));
  if (piece.empty()) {
    return absl::DataLossError("blob: its file is shorter than its row says");
  }
  return piece;
}

// ---- BlobUpload

BlobUpload::~BlobUpload() {
  if (fd_ >= 0) {
    close(fd_);
    if (!noted_ && !complete_) {
      unlink(path_.c_str());
    }
  }
  store_.Release(record_);
}

void BlobUpload::Drop() {
  // Whatever fails here leaves a file or row without meaning, which the next start removes.
  unlink(path_.c_str());
  if (noted_) {
    store_.index_.RemoveUpload(record_.tenant, record_.id).IgnoreError();
  }
  noted_ = false;
}

absl::Status BlobUpload::Append(absl::string_view bytes) {
  if (complete_) {
    return absl::OkStatus();
  }
  if (static_cast<int64_t>(bytes.size()) > record_.size_bytes - received_) {
    Drop();
    return absl::InvalidArgumentError(absl::StrCat("upload '", record_.id,
                                                   "': more bytes than the ", record_.size_bytes,
                                                   " of header.size_bytes"));
  }
  QB_RETURN_IF_ERROR(WriteAll(fd_, bytes, received_, path_));
  hash_.Update(bytes);
  received_ += static_cast<int64_t>(bytes.size());
  if (received_ < record_.size_bytes &&
      received_ - record_.committed_bytes >= store_.options_.checkpoint_bytes) {
    return Checkpoint();
  }
  return absl::OkStatus();
}

absl::Status BlobUpload::Checkpoint() {
  if (fdatasync(fd_) != 0) {
    return FileError(errno, "sync", path_);
  }
  if (!noted_) {
    QB_RETURN_IF_ERROR(SyncFolder(path_.substr(0, path_.rfind('/'))));
  }
  UploadRecord record = record_;
  record.committed_bytes = received_;
  QB_RETURN_IF_ERROR(store_.index_.PutUpload(record, store_.clock_.WallMs()));
  record_ = std::move(record);
  noted_ = true;
  return absl::OkStatus();
}

absl::StatusOr<UploadState> BlobUpload::Finish() {
  if (complete_) {
    return UploadState{record_.size_bytes, true};
  }
  if (received_ == record_.size_bytes) {
    QB_RETURN_IF_ERROR(Complete());
    return UploadState{record_.size_bytes, true};
  }
  if (received_ > record_.committed_bytes) {
    QB_RETURN_IF_ERROR(Checkpoint());
  }
  return UploadState{record_.committed_bytes, false};
}

absl::Status BlobUpload::Complete() {
  const std::string digest = hash_.FinishHex();
  if (digest != record_.sha256) {
    Drop();
    return absl::InvalidArgumentError(absl::StrCat("upload '", record_.id, "': the ",
                                                   record_.size_bytes, " bytes have sha256 ",
                                                   digest, ", announced was ", record_.sha256));
  }
  // The order is the promise: bytes, name, row.
  if (fsync(fd_) != 0) {
    return FileError(errno, "sync", path_);
  }
  store_.LockDigest(record_.sha256);
  absl::Status status = MoveIntoPlace();
  store_.UnlockDigest(record_.sha256);
  complete_ = status.ok();
  return status;
}

absl::Status BlobUpload::MoveIntoPlace() {
  const std::string target = store_.BlobPath(record_.sha256);
  if (rename(path_.c_str(), target.c_str()) != 0) {
    return FileError(errno, "rename to", target);
  }
  QB_RETURN_IF_ERROR(SyncFolder(target.substr(0, target.rfind('/'))));
  return store_.index_.AddBlob(record_, store_.clock_.WallMs());
}

// ---- BlobStore

absl::StatusOr<std::unique_ptr<BlobStore>> BlobStore::Create(const std::string& folder,
                                                             BlobIndex& index, const Clock& clock,
                                                             BlobStoreOptions options) {
  auto store = std::unique_ptr<BlobStore>(new BlobStore(folder, index, clock, options));
  QB_RETURN_IF_ERROR(MakeFolders(folder + "/uploads"));
  QB_RETURN_IF_ERROR(MakeFolders(folder + "/blobs"));
  QB_RETURN_IF_ERROR(MakeBlobFolders(folder + "/blobs"));
  QB_RETURN_IF_ERROR(store->RemoveOrphans());
  QB_ASSIGN_OR_RETURN(const std::vector<std::string> doomed, index.ListDoomed());
  QB_RETURN_IF_ERROR(store->RemoveDoomed(doomed).status());
  return store;
}

absl::Status BlobStore::RemoveOrphans() {
  QB_ASSIGN_OR_RETURN(const std::vector<UploadRecord> uploads, index_.ListUploads());
  absl::flat_hash_set<std::string> wanted;
  for (const UploadRecord& upload : uploads) {
    wanted.insert(PartPath(upload.tenant, upload.id));
  }
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder_ + "/uploads", error), end;
       !error && it != end; it.increment(error)) {
    if (!wanted.contains(it->path().string())) {
      unlink(it->path().c_str());
    }
  }
  return error
             ? absl::InternalError(absl::StrCat("list '", folder_, "/uploads': ", error.message()))
             : absl::OkStatus();
}

std::string BlobStore::BlobPath(absl::string_view sha256) const {
  return absl::StrCat(folder_, "/blobs/", sha256.substr(0, 2), "/", sha256);
}

std::string BlobStore::PartPath(absl::string_view tenant, absl::string_view upload_id) const {
  return absl::StrCat(folder_, "/uploads/", tenant, ".", upload_id);
}

void BlobStore::Release(const UploadRecord& record) {
  absl::MutexLock lock(&mutex_);
  open_uploads_.erase(PartPath(record.tenant, record.id));
}

absl::Status BlobStore::CheckRoom() const {
  struct statvfs disk = {};
  if (statvfs(folder_.c_str(), &disk) != 0) {
    return FileError(errno, "look at the disk of", folder_);
  }
  const int64_t free_bytes =
      static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  if (free_bytes < options_.min_free_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server's disk is nearly full: ", free_bytes, " bytes are free, ",
                     options_.min_free_bytes, " must stay free"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BlobUpload>> BlobStore::StartUpload(const UploadRequest& request) {
  QB_RETURN_IF_ERROR(CheckRequest(request, options_.max_blob_bytes));
  {
    absl::MutexLock lock(&mutex_);
    if (!open_uploads_.insert(PartPath(request.tenant, request.upload_id)).second) {
      return absl::AbortedError(absl::StrCat("upload '", request.upload_id,
                                             "': another stream writes it; ask QueryWrite later"));
    }
  }
  // From here on the destructor of `upload` gives the id back.
  auto upload = std::unique_ptr<BlobUpload>(new BlobUpload(
      *this,
      UploadRecord{request.tenant, request.upload_id, request.sha256, request.size_bytes, 0}));
  QB_ASSIGN_OR_RETURN(const std::vector<std::optional<int64_t>> sizes,
                      index_.FindAndKeep(request.tenant, {request.sha256}, clock_.WallMs()));
  if (sizes[0].has_value()) {
    if (*sizes[0] != request.size_bytes) {
      return absl::InvalidArgumentError(absl::StrCat("header.size_bytes: ", request.size_bytes,
                                                     ", but ", request.sha256, " has ", *sizes[0]));
    }
    upload->complete_ = true;
    return upload;
  }
  QB_RETURN_IF_ERROR(CheckRoom());
  if (request.admit != nullptr) {
    QB_ASSIGN_OR_RETURN(upload->ticket_, request.admit(request));
  }
  QB_RETURN_IF_ERROR(OpenPart(*upload, request.offset));
  return upload;
}

absl::Status BlobStore::OpenPart(BlobUpload& upload, int64_t offset) {
  UploadRecord& record = upload.record_;
  QB_ASSIGN_OR_RETURN(const std::optional<UploadRecord> known,
                      index_.FindUpload(record.tenant, record.id));
  if (known.has_value() &&
      (known->sha256 != record.sha256 || known->size_bytes != record.size_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("header.upload_id: '", record.id,
                     "' belongs to an upload of another blob: choose a new id"));
  }
  upload.noted_ = known.has_value();
  upload.path_ = PartPath(record.tenant, record.id);
  upload.fd_ = open(upload.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (upload.fd_ < 0) {
    return FileError(errno, "open", upload.path_);
  }
  struct stat file = {};
  if (fstat(upload.fd_, &file) != 0) {
    return FileError(errno, "look at", upload.path_);
  }
  const int64_t committed =
      known.has_value() ? std::min<int64_t>(known->committed_bytes, file.st_size) : 0;
  if (offset > committed) {
    return absl::OutOfRangeError(absl::StrCat("header.offset: ", offset, ", but only ", committed,
                                              " bytes of upload '", record.id, "' are stored"));
  }
  if (ftruncate(upload.fd_, offset) != 0) {
    return FileError(errno, "cut", upload.path_);
  }
  for (int64_t at = 0; at < offset;) {
    QB_ASSIGN_OR_RETURN(const std::string piece,
                        ReadPiece(upload.fd_, at, std::min(kHashPieceBytes, offset - at)));
    if (piece.empty()) {
      return absl::DataLossError(absl::StrCat("upload '", record.id, "': its file got shorter"));
    }
    upload.hash_.Update(piece);
    at += static_cast<int64_t>(piece.size());
  }
  record.committed_bytes = offset;
  upload.received_ = offset;
  return absl::OkStatus();
}

absl::StatusOr<UploadState> BlobStore::QueryUpload(absl::string_view tenant,
                                                   absl::string_view upload_id,
                                                   absl::string_view sha256) {
  if (!IsUploadId(upload_id)) {
    return absl::InvalidArgumentError("upload_id: expected 1 to 64 of [A-Za-z0-9_-]");
  }
  UploadState state;
  if (!sha256.empty()) {
    QB_ASSIGN_OR_RETURN(const std::vector<std::optional<int64_t>> sizes,
                        FindSizes(tenant, {std::string(sha256)}));
    if (sizes[0].has_value()) {
      return UploadState{*sizes[0], true};
    }
  }
  QB_ASSIGN_OR_RETURN(const std::optional<UploadRecord> known,
                      index_.FindUpload(tenant, upload_id));
  if (known.has_value()) {
    struct stat file = {};
    if (stat(PartPath(tenant, upload_id).c_str(), &file) == 0) {
      state.committed_bytes = std::min<int64_t>(known->committed_bytes, file.st_size);
    }
  }
  return state;
}

absl::StatusOr<std::unique_ptr<BlobFile>> BlobStore::Open(absl::string_view tenant,
                                                          absl::string_view sha256) {
  if (!IsSha256Hex(sha256)) {
    return absl::InvalidArgumentError("sha256: expected 64 lower-case hex characters");
  }
  QB_ASSIGN_OR_RETURN(const std::vector<std::optional<int64_t>> sizes,
                      FindSizes(tenant, {std::string(sha256)}));
  if (!sizes[0].has_value()) {
    return absl::NotFoundError(absl::StrCat("no blob ", sha256));
  }
  const int fd = open(BlobPath(sha256).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    // Perhaps it was removed between the two looks.
    QB_ASSIGN_OR_RETURN(const auto now, FindSizes(tenant, {std::string(sha256)}));
    if (!now[0].has_value()) {
      return absl::NotFoundError(absl::StrCat("no blob ", sha256));
    }
    return absl::DataLossError(absl::StrCat("blob ", sha256, " has a row but no readable file"));
  }
  return std::make_unique<BlobFile>(fd, *sizes[0]);
}

absl::StatusOr<std::vector<std::optional<int64_t>>> BlobStore::FindSizes(
    absl::string_view tenant, absl::Span<const std::string> digests) {
  QB_RETURN_IF_ERROR(CheckDigests(digests));
  return index_.FindSizes(tenant, digests);
}

absl::StatusOr<std::vector<std::optional<int64_t>>> BlobStore::FindAndKeep(
    absl::string_view tenant, absl::Span<const std::string> digests) {
  QB_RETURN_IF_ERROR(CheckDigests(digests));
  return index_.FindAndKeep(tenant, digests, clock_.WallMs());
}

}  // namespace qb::server

#include "worker/agent/blob_transfer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "worker/agent/backoff.h"

namespace qb::worker {
namespace {

constexpr int64_t kChunkBytes = int64_t{1} << 20;

// A file that is being fetched. Removed by nobody: it lies in the attempt's folder.
class Download {
 public:
  static absl::StatusOr<Download> Create(const std::string& path) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    if (error) {
      return FileError("cannot make the folder of", path, error.value());
    }
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
      return FileError("cannot make", path, errno);
    }
    return Download(fd);
  }
  Download(Download&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), size_(other.size_), hash_(std::move(other.hash_)) {}
  Download& operator=(Download&&) = delete;
  ~Download() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  absl::Status Append(absl::string_view bytes) {
    hash_.Update(bytes);
    size_ += static_cast<int64_t>(bytes.size());
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) {
        continue;
      }
      if (written < 0) {
        return FileError("cannot write", "an input", errno);
      }
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return absl::OkStatus();
  }
  int64_t size() const { return size_; }
  std::string FinishHex() { return hash_.FinishHex(); }

 private:
  explicit Download(int fd) : fd_(fd) {}
  static absl::Status FileError(absl::string_view what, const std::string& path, int error) {
    const std::string message = absl::StrCat(what, " '", path, "': ", std::strerror(error));
    if (error == ENOSPC || error == EDQUOT) {
      return absl::ResourceExhaustedError(message);
    }
    // EEXIST, ENOTDIR, EISDIR: two entries of the manifest want the same name.
    const bool clash = error == EEXIST || error == ENOTDIR || error == EISDIR;
    return clash ? absl::InvalidArgumentError(message) : absl::InternalError(message);
  }

  int fd_ = -1;
  int64_t size_ = 0;
  Sha256 hash_;
};

absl::Status CheckFetched(const v1::ManifestEntry& entry, Download& download) {
  if (download.size() != entry.size_bytes()) {
    return absl::DataLossError(absl::StrCat("input '", entry.path(), "': ", download.size(),
                                            " bytes; the manifest says ", entry.size_bytes()));
  }
  const std::string digest = download.FinishHex();
  if (digest != entry.sha256()) {
    return absl::DataLossError(absl::StrCat("input '", entry.path(), "': SHA-256 ", digest,
                                            "; the manifest says ", entry.sha256()));
  }
  return absl::OkStatus();
}

absl::Status Stopped() { return absl::CancelledError("the attempt was stopped"); }

// One stream from `offset` on. Sets `complete` when the server has the whole blob.
absl::Status UploadOnce(WorkerStub& stub, const OutputFile& file, const v1::WriteBlobHeader& header,
                        const StopSignal& stop, bool& complete) {
  int64_t offset = header.offset();
  const auto source = [&]() -> absl::StatusOr<std::string> {
    if (stop.abandoned()) {
      return Stopped();
    }
    const int64_t length = std::min(kChunkBytes, file.size_bytes() - offset);
    if (length <= 0) {
      return std::string();
    }
    QB_ASSIGN_OR_RETURN(std::string bytes, file.Read(offset, length));
    if (bytes.empty()) {
      return absl::DataLossError("an output became shorter while it was uploaded");
    }
    offset += static_cast<int64_t>(bytes.size());
    return bytes;
  };
  QB_ASSIGN_OR_RETURN(const v1::WriteBlobResponse response, stub.WriteBlob(header, source));
  complete = response.complete();
  return complete ? absl::OkStatus()
                  : absl::UnavailableError("the server stored only part of an upload");
}

// Asks how far the upload came and sends the rest.
absl::Status UploadRest(WorkerStub& stub, const OutputFile& file, v1::WriteBlobHeader& header,
                        const StopSignal& stop, bool& complete) {
  v1::QueryWriteRequest query;
  query.set_upload_id(header.upload_id());
  query.set_sha256(header.sha256());
  *query.mutable_attempt() = header.attempt();
  QB_ASSIGN_OR_RETURN(const v1::QueryWriteResponse answer, stub.QueryWrite(query));
  if (answer.complete()) {
    complete = true;
    return absl::OkStatus();
  }
  header.set_offset(std::clamp<int64_t>(answer.committed_bytes(), 0, header.size_bytes()));
  return UploadOnce(stub, file, header, stop, complete);
}

}  // namespace

absl::Status FetchBlob(const BlobAccess& access, const v1::ManifestEntry& entry,
                       const std::string& path, const StopSignal& stop) {
  QB_ASSIGN_OR_RETURN(Download download, Download::Create(path));
  v1::ReadBlobRequest request;
  request.set_sha256(entry.sha256());
  *request.mutable_attempt() = access.attempt;
  Backoff backoff = ServerBackoff();
  absl::Status write_status;
  const auto sink = [&](absl::string_view bytes) -> absl::Status {
    if (stop.requested()) {
      return Stopped();
    }
    if (download.size() + static_cast<int64_t>(bytes.size()) > entry.size_bytes()) {
      return write_status = absl::DataLossError(absl::StrCat(
                 "input '", entry.path(), "': longer than the manifest's ", entry.size_bytes()));
    }
    backoff.Reset();
    return write_status = download.Append(bytes);
  };
  while (download.size() < entry.size_bytes()) {
    if (stop.requested()) {
      return Stopped();
    }
    request.set_offset(download.size());
    absl::Status status = access.stub.ReadBlob(request, sink);
    QB_RETURN_IF_ERROR(write_status);
    if (status.ok()) {
      break;
    }
    if (!IsTransient(status)) {
      return status;
    }
    stop.WaitUntilAbandoned(backoff.Next());
  }
  return CheckFetched(entry, download);
}

absl::Status StoreBlob(const BlobAccess& access, const OutputFile& file, const std::string& sha256,
                       const std::string& upload_id, const StopSignal& stop) {
  v1::WriteBlobHeader header;
  header.set_sha256(sha256);
  header.set_size_bytes(file.size_bytes());
  header.set_upload_id(upload_id);
  *header.mutable_attempt() = access.attempt;
  Backoff backoff = ServerBackoff();
  bool complete = false;
  // The first try saves a question: nothing is stored of a new upload_id.
  absl::Status status = UploadOnce(access.stub, file, header, stop, complete);
  while (!complete) {
    if (stop.abandoned()) {
      return Stopped();
    }
    if (!status.ok() && !IsTransient(status) && !absl::IsOutOfRange(status)) {
      return status;
    }
    stop.WaitUntilAbandoned(backoff.Next());
    status = UploadRest(access.stub, file, header, stop, complete);
  }
  return absl::OkStatus();
}

}  // namespace qb::worker

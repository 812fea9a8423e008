#include "client/cpp/upload.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

#include "client/cpp/random_id.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "proto/qbc/v1/blob_service.pb.h"

namespace qb::client {
namespace {

constexpr size_t kChunkBytes = 1 << 20;
constexpr size_t kBlobsPerQuery = 1000;
constexpr int kStreams = 4;
// Below this an upload is sent without asking first how much of it the server has.
constexpr int64_t kSmallBlobBytes = 4 << 20;

// Counts for the listener. Thread-safe.
class Meter {
 public:
  Meter(const UploadListener& listener, int64_t total_bytes, int64_t total_blobs)
      : listener_(listener) {
    progress_.total_bytes = total_bytes;
    progress_.total_blobs = total_blobs;
  }

  void Add(int64_t bytes, int64_t blobs) {
    absl::MutexLock lock(&mutex_);
    progress_.done_bytes += bytes;
    progress_.done_blobs += blobs;
    if (listener_) {
      listener_(progress_);
    }
  }

 private:
  const UploadListener& listener_;
  absl::Mutex mutex_;
  UploadProgress progress_ ABSL_GUARDED_BY(mutex_);
};

// Reads a blob in chunks from an offset.
class ChunkReader {
 public:
  static absl::StatusOr<ChunkReader> Open(const LocalBlob& blob, int64_t offset) {
    ChunkReader reader(blob, offset);
    if (!blob.file.empty()) {
      reader.stream_.open(blob.file, std::ios::binary);
      reader.stream_.seekg(offset);
      if (!reader.stream_) {
        return absl::FailedPreconditionError(
            absl::StrCat("file '", blob.file, "' cannot be read any more"));
      }
    }
    return reader;
  }

  // Leaves `chunk` empty at the end.
  absl::Status Next(std::string* chunk) {
    const auto left = static_cast<size_t>(blob_->size_bytes - offset_);
    const size_t size = std::min(left, kChunkBytes);
    if (blob_->file.empty()) {
      chunk->assign(blob_->content, static_cast<size_t>(offset_), size);
    } else {
      chunk->resize(size);
      stream_.read(chunk->data(), static_cast<std::streamsize>(size));
      if (static_cast<size_t>(stream_.gcount()) != size) {
        return absl::FailedPreconditionError(
            absl::StrCat("file '", blob_->file, "' became shorter while it was uploaded"));
      }
    }
    offset_ += static_cast<int64_t>(size);
    return absl::OkStatus();
  }

 private:
  ChunkReader(const LocalBlob& blob, int64_t offset) : blob_(&blob), offset_(offset) {}

  const LocalBlob* blob_;
  int64_t offset_;
  std::ifstream stream_;
};

// One blob, until it is stored.
class BlobUpload {
 public:
  BlobUpload(Connection& connection, const LocalBlob& blob, Meter& meter)
      // A name that a later process finds again: that is how it resumes after a crash of this one.
      : connection_(connection),
        blob_(blob),
        meter_(meter),
        upload_id_(absl::StrCat("c-", blob.sha256.substr(0, 40))) {}

  absl::Status Run() {
    Backoff backoff = connection_.NewBackoff();
    bool ask = blob_.size_bytes > kSmallBlobBytes;
    while (true) {
      int64_t offset = 0;
      if (ask) {
        QB_ASSIGN_OR_RETURN(const bool complete, Query(&offset));
        if (complete) {
          return absl::OkStatus();
        }
      }
      ask = true;
      const absl::Status status = Write(offset);
      if (status.ok()) {
        return absl::OkStatus();
      }
      QB_RETURN_IF_ERROR(backoff.WaitAfter(AfterFailure(status)));
    }
  }

 private:
  // What the failure of a Write means for the next one.
  absl::Status AfterFailure(const absl::Status& status) {
    if (status.code() == absl::StatusCode::kAborted && ++aborted_ > 2) {
      upload_id_ = RandomUuid();  // somebody else uploads the same bytes; do not wait for them
    }
    // The offset is asked for again.
    return status.code() == absl::StatusCode::kOutOfRange ? absl::UnavailableError(status.message())
                                                          : status;
  }

  // True when the blob is stored; otherwise `offset` is where to go on.
  absl::StatusOr<bool> Query(int64_t* offset) {
    qbc::v1::QueryWriteRequest request;
    request.set_upload_id(upload_id_);
    request.set_sha256(blob_.sha256);
    QB_ASSIGN_OR_RETURN(const qbc::v1::QueryWriteResponse response,
                        connection_.QueryWrite(request));
    *offset = std::clamp<int64_t>(response.committed_bytes(), 0, blob_.size_bytes);
    return response.complete();
  }

  absl::Status Write(int64_t offset) {
    QB_ASSIGN_OR_RETURN(ChunkReader reader, ChunkReader::Open(blob_, offset));
    qbc::v1::WriteBlobHeader header;
    header.set_sha256(blob_.sha256);
    header.set_size_bytes(blob_.size_bytes);
    header.set_upload_id(upload_id_);
    header.set_offset(offset);
    sent_bytes_ = std::max(sent_bytes_, offset);
    int64_t position = offset;
    const absl::StatusOr<qbc::v1::WriteBlobResponse> response = connection_.stub().WriteBlob(
        header, connection_.StreamOptions(), [&](std::string* chunk) -> absl::Status {
          QB_RETURN_IF_ERROR(reader.Next(chunk));
          position += static_cast<int64_t>(chunk->size());
          if (position > sent_bytes_) {  // bytes that are sent again are not counted again
            meter_.Add(position - sent_bytes_, 0);
            sent_bytes_ = position;
          }
          return absl::OkStatus();
        });
    QB_RETURN_IF_ERROR(response.status());
    if (!response->complete()) {
      return absl::UnavailableError(absl::StrCat("the server stored ", response->committed_bytes(),
                                                 " of ", blob_.size_bytes, " bytes"));
    }
    return absl::OkStatus();
  }

  Connection& connection_;
  const LocalBlob& blob_;
  Meter& meter_;
  std::string upload_id_;
  int aborted_ = 0;
  int64_t sent_bytes_ = 0;
};

absl::StatusOr<std::vector<const LocalBlob*>> FindMissing(
    Connection& connection, absl::Span<const LocalBlob* const> blobs) {
  std::map<std::string, const LocalBlob*> by_digest;
  for (const LocalBlob* blob : blobs) {
    by_digest.emplace(blob->sha256, blob);
  }
  std::vector<const LocalBlob*> missing;
  auto next = by_digest.begin();
  while (next != by_digest.end()) {
    qbc::v1::FindMissingBlobsRequest request;
    for (size_t i = 0; i < kBlobsPerQuery && next != by_digest.end(); ++i, ++next) {
      request.add_blobs()->set_sha256(next->first);
      request.mutable_blobs()->rbegin()->set_size_bytes(next->second->size_bytes);
    }
    QB_ASSIGN_OR_RETURN(const qbc::v1::FindMissingBlobsResponse response,
                        connection.FindMissingBlobs(request));
    for (const qbc::v1::BlobRef& blob : response.missing()) {
      const auto found = by_digest.find(blob.sha256());
      if (found != by_digest.end()) {
        missing.push_back(found->second);
      }
    }
  }
  return missing;
}

}  // namespace

absl::Status UploadMissing(Connection& connection, absl::Span<const LocalBlob* const> blobs,
                           const UploadListener& listener) {
  QB_ASSIGN_OR_RETURN(const std::vector<const LocalBlob*> missing, FindMissing(connection, blobs));
  int64_t total_bytes = 0;
  for (const LocalBlob* blob : missing) {
    total_bytes += blob->size_bytes;
  }
  Meter meter(listener, total_bytes, static_cast<int64_t>(missing.size()));
  meter.Add(0, 0);

  absl::Mutex mutex;
  absl::Status first_error;
  std::atomic<bool> failed{false};
  // Samples are small and each costs the server a flush to disk: several at a time share it.
  ThreadPool pool(std::clamp<int>(static_cast<int>(missing.size()), 1, kStreams));
  pool.ParallelFor(static_cast<int64_t>(missing.size()), [&](int64_t index, int) {
    if (failed) {
      return;
    }
    const LocalBlob& blob = *missing[static_cast<size_t>(index)];
    const absl::Status status = BlobUpload(connection, blob, meter).Run();
    if (status.ok()) {
      meter.Add(0, 1);
      return;
    }
    absl::MutexLock lock(&mutex);
    failed = true;
    first_error.Update(absl::Status(
        status.code(), absl::StrCat("upload of ", blob.file.empty() ? "a listing" : blob.file, ": ",
                                    status.message())));
  });
  return first_error;
}

}  // namespace qb::client

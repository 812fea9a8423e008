// A WorkerStub that is a small server in memory.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

#include "core/base/digest.h"
#include "worker/agent/worker_stub.h"

namespace qb::worker::testing {

// Stores blobs, events and logs, checks their order as the protocol demands, and hands out what a
// test queues. Thread-safe.
class FakeWorkerStub final : public WorkerStub {
 public:
  // While true every call answers Unavailable.
  void SetAway(bool away) {
    absl::MutexLock lock(&mutex_);
    away_ = away;
  }
  // Writes with this fence are stale from now on.
  void MakeStale(int64_t fence) {
    absl::MutexLock lock(&mutex_);
    stale_.insert(fence);
  }
  void Cancel(int64_t fence) {
    absl::MutexLock lock(&mutex_);
    cancel_.insert(fence);
  }
  // Stores only the first `bytes` of the next upload, then breaks the stream.
  void BreakNextUploadAfter(int64_t bytes) {
    absl::MutexLock lock(&mutex_);
    break_upload_after_ = bytes;
  }
  void BreakNextDownloadAfter(int64_t bytes) {
    absl::MutexLock lock(&mutex_);
    break_download_after_ = bytes;
  }
  // The next CompleteAttempt finds that its artifacts are not stored any more.
  void LoseArtifactsOnce() {
    absl::MutexLock lock(&mutex_);
    lose_artifacts_ = true;
  }
  v1::ManifestEntry AddBlob(const std::string& path, const std::string& bytes) {
    absl::MutexLock lock(&mutex_);
    v1::ManifestEntry entry;
    entry.set_path(path);
    entry.set_sha256(Sha256Hex(bytes));
    entry.set_size_bytes(static_cast<int64_t>(bytes.size()));
    blobs_[entry.sha256()] = bytes;
    return entry;
  }
  void Offer(const v1::Assignment& assignment) {
    absl::MutexLock lock(&mutex_);
    offers_.push_back(assignment);
  }

  // Wait until the condition of the name holds, at most 20 s.
  bool WaitForCompletions(size_t count) {
    return Wait([&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return completions_.size() >= count; });
  }
  bool WaitForEvent(const std::string& text) {
    return Wait([&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return std::any_of(events_.begin(), events_.end(), [&](const v1::AttemptEvent& event) {
        return absl::StrContains(event.ShortDebugString(), text);
      });
    });
  }
  bool WaitForSyncs(int count) {
    return Wait([&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return syncs_ >= count; });
  }

  std::vector<v1::CompleteAttemptRequest> completions() {
    absl::MutexLock lock(&mutex_);
    return completions_;
  }
  std::vector<v1::AttemptEvent> events() {
    absl::MutexLock lock(&mutex_);
    return events_;
  }
  std::string log() {
    absl::MutexLock lock(&mutex_);
    return log_;
  }
  std::string Blob(const std::string& sha256) {
    absl::MutexLock lock(&mutex_);
    return blobs_[sha256];
  }
  v1::SyncRequest last_sync() {
    absl::MutexLock lock(&mutex_);
    return last_sync_;
  }

  absl::StatusOr<v1::SyncResponse> Sync(const v1::SyncRequest& request,
                                        CallHandle& handle) override {
    bool ended = false;
    handle.Begin([this, &ended] {
      absl::MutexLock lock(&mutex_);
      ended = true;
    });
    absl::StatusOr<v1::SyncResponse> response = AnswerSync(request, ended);
    handle.End();
    return response;
  }

  absl::StatusOr<v1::AppendEventsResponse> AppendEvents(
      const v1::AppendEventsRequest& request) override {
    absl::MutexLock lock(&mutex_);
    if (absl::Status status = CheckKey(request.key()); !status.ok()) {
      return status;
    }
    for (const v1::AttemptEvent& event : request.events()) {
      const int64_t stored = static_cast<int64_t>(events_.size());
      if (event.seq() > stored + 1) {
        return absl::OutOfRangeError("events are missing");
      }
      if (event.seq() == stored + 1) {
        events_.push_back(event);
      }
    }
    v1::AppendEventsResponse response;
    response.set_committed_seq(static_cast<int64_t>(events_.size()));
    response.set_cancel_requested(cancel_.count(request.key().fence()) > 0);
    return response;
  }

  absl::StatusOr<v1::PutLogResponse> PutLog(const v1::PutLogRequest& request) override {
    absl::MutexLock lock(&mutex_);
    if (absl::Status status = CheckKey(request.key()); !status.ok()) {
      return status;
    }
    if (request.offset() > static_cast<int64_t>(log_.size())) {
      return absl::OutOfRangeError("a gap");
    }
    log_.resize(static_cast<size_t>(request.offset()));
    log_ += request.data();
    v1::PutLogResponse response;
    response.set_committed_bytes(static_cast<int64_t>(log_.size()));
    return response;
  }

  absl::StatusOr<v1::CompleteAttemptResponse> CompleteAttempt(
      const v1::CompleteAttemptRequest& request) override {
    absl::MutexLock lock(&mutex_);
    if (absl::Status status = CheckKey(request.key()); !status.ok()) {
      return status;
    }
    for (const v1::Artifact& artifact : request.artifacts()) {
      if (lose_artifacts_) {
        blobs_.erase(artifact.sha256());
        lose_artifacts_ = false;
      }
      if (blobs_.count(artifact.sha256()) == 0) {
        return absl::FailedPreconditionError("MISSING_BLOB: " + artifact.sha256());
      }
    }
    completions_.push_back(request);
    return v1::CompleteAttemptResponse();
  }

  absl::Status ReadBlob(const v1::ReadBlobRequest& request, BlobSink sink) override {
    std::string bytes;
    bool broken = false;
    {
      absl::MutexLock lock(&mutex_);
      if (away_) {
        return absl::UnavailableError("away");
      }
      const auto it = blobs_.find(request.sha256());
      if (it == blobs_.end()) {
        return absl::NotFoundError("no blob " + request.sha256());
      }
      bytes = it->second.substr(static_cast<size_t>(request.offset()));
      if (break_download_after_ >= 0) {
        bytes.resize(std::min(bytes.size(), static_cast<size_t>(break_download_after_)));
        break_download_after_ = -1;
        broken = true;
      }
    }
    absl::Status status = sink(bytes);
    return status.ok() && broken ? absl::UnavailableError("broken") : status;
  }

  absl::StatusOr<v1::QueryWriteResponse> QueryWrite(const v1::QueryWriteRequest& request) override {
    absl::MutexLock lock(&mutex_);
    if (away_) {
      return absl::UnavailableError("away");
    }
    v1::QueryWriteResponse response;
    response.set_committed_bytes(static_cast<int64_t>(uploads_[request.upload_id()].size()));
    response.set_complete(blobs_.count(request.sha256()) > 0);
    return response;
  }

  absl::StatusOr<v1::WriteBlobResponse> WriteBlob(const v1::WriteBlobHeader& header,
                                                  BlobSource source) override {
    bool first = true;
    while (true) {
      absl::StatusOr<std::string> bytes = source();
      if (!bytes.ok()) {
        return bytes.status();
      }
      absl::MutexLock lock(&mutex_);
      if (away_) {
        return absl::UnavailableError("away");
      }
      std::string& upload = uploads_[header.upload_id()];
      if (header.offset() > static_cast<int64_t>(upload.size())) {
        return absl::OutOfRangeError("offset");
      }
      if (first) {
        upload.resize(static_cast<size_t>(header.offset()));
        first = false;
      }
      upload += *bytes;
      if (break_upload_after_ >= 0) {
        upload.resize(std::min(upload.size(), static_cast<size_t>(break_upload_after_)));
        break_upload_after_ = -1;
        return absl::UnavailableError("broken");
      }
      if (bytes->empty()) {
        return FinishUpload(header, upload);
      }
    }
  }

 private:
  bool Wait(const std::function<bool()>& condition) {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&condition), absl::Seconds(20));
  }

  absl::Status CheckKey(const v1::AttemptKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (away_) {
      return absl::UnavailableError("away");
    }
    return stale_.count(key.fence()) > 0 ? absl::FailedPreconditionError("STALE_ATTEMPT: old")
                                         : absl::OkStatus();
  }

  absl::StatusOr<v1::SyncResponse> AnswerSync(const v1::SyncRequest& request, const bool& ended) {
    absl::MutexLock lock(&mutex_);
    ++syncs_;
    last_sync_ = request;
    if (away_) {
      return absl::UnavailableError("away");
    }
    const auto has_news = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return ended || away_ || (request.free_slots() > 0 && !offers_.empty());
    };
    mutex_.AwaitWithTimeout(absl::Condition(&has_news),
                            absl::Milliseconds(request.max_wait().seconds() > 0 ? 50 : 0));
    if (ended) {
      return absl::CancelledError("ended by the caller");
    }
    v1::SyncResponse response;
    for (int i = 0; i < request.free_slots() && !offers_.empty(); ++i) {
      *response.add_assignments() = offers_.front();
      offers_.erase(offers_.begin());
    }
    for (const v1::HeldAttempt& held : request.held()) {
      if (stale_.count(held.key().fence()) > 0) {
        *response.add_kill() = held.key();
      }
      if (cancel_.count(held.key().fence()) > 0) {
        *response.add_cancel() = held.key();
      }
    }
    return response;
  }

  absl::StatusOr<v1::WriteBlobResponse> FinishUpload(const v1::WriteBlobHeader& header,
                                                     const std::string& upload)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (Sha256Hex(upload) != header.sha256()) {
      return absl::InvalidArgumentError("digest");
    }
    blobs_[header.sha256()] = upload;
    v1::WriteBlobResponse response;
    response.set_complete(true);
    return response;
  }

  absl::Mutex mutex_;
  bool away_ ABSL_GUARDED_BY(mutex_) = false;
  int syncs_ ABSL_GUARDED_BY(mutex_) = 0;
  v1::SyncRequest last_sync_ ABSL_GUARDED_BY(mutex_);
  std::set<int64_t> stale_ ABSL_GUARDED_BY(mutex_);
  std::set<int64_t> cancel_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> blobs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> uploads_ ABSL_GUARDED_BY(mutex_);
  bool lose_artifacts_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t break_upload_after_ ABSL_GUARDED_BY(mutex_) = -1;
  int64_t break_download_after_ ABSL_GUARDED_BY(mutex_) = -1;
  std::vector<v1::Assignment> offers_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::AttemptEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::string log_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::CompleteAttemptRequest> completions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::worker::testing

// The server as the agent sees it: one method an RPC, no retries.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

#include "proto/qbc/v1/blob_service.pb.h"
#include "proto/qbc/v1/worker_service.pb.h"

namespace qb::worker {

namespace v1 = ::qbc::v1;

// Lets another thread end a call that is under way. Thread-safe.
class CallHandle {
 public:
  // Ends the present call with CANCELLED, or the next one when none has begun since Reset.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets an earlier Cancel. Before a call.
  void Reset() ABSL_LOCKS_EXCLUDED(mutex_);

  // For stubs: `cancel` is called at most once, never after End.
  void Begin(std::function<void()> cancel) ABSL_LOCKS_EXCLUDED(mutex_);
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  std::function<void()> cancel_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

// Thread-safe. Errors are those of the protocol (worker_service.proto, blob_service.proto);
// Unavailable and DeadlineExceeded when the server does not answer.
class WorkerStub {
 public:
  // Hands over the next piece of a blob, empty at its end. An error ends the upload.
  using BlobSource = absl::FunctionRef<absl::StatusOr<std::string>()>;
  // Takes the next piece. An error ends the download.
  using BlobSink = absl::FunctionRef<absl::Status(absl::string_view)>;

  virtual ~WorkerStub() = default;

  virtual absl::StatusOr<v1::SyncResponse> Sync(const v1::SyncRequest& request,
                                                CallHandle& handle) = 0;
  virtual absl::StatusOr<v1::AppendEventsResponse> AppendEvents(
      const v1::AppendEventsRequest& request) = 0;
  virtual absl::StatusOr<v1::PutLogResponse> PutLog(const v1::PutLogRequest& request) = 0;
  virtual absl::StatusOr<v1::CompleteAttemptResponse> CompleteAttempt(
      const v1::CompleteAttemptRequest& request) = 0;

  virtual absl::Status ReadBlob(const v1::ReadBlobRequest& request, BlobSink sink) = 0;
  virtual absl::StatusOr<v1::QueryWriteResponse> QueryWrite(
      const v1::QueryWriteRequest& request) = 0;
  virtual absl::StatusOr<v1::WriteBlobResponse> WriteBlob(const v1::WriteBlobHeader& header,
                                                          BlobSource source) = 0;
};

// Worth another try of the same call: the server is away, slow or busy.
bool IsTransient(const absl::Status& status);

// The server says that the attempt is no longer ours.
bool IsStaleAttempt(const absl::Status& status);

}  // namespace qb::worker

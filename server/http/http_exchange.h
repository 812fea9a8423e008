// One request from its first byte to the end of its answer, between libmicrohttpd's thread and the
// pool. Internal to the HTTP server.
#pragma once

#include <microhttpd.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/http/http_message.h"
#include "server/http/http_server.h"
#include "server/runtime/task_pool.h"

namespace qb::server {

// What all exchanges of a server share.
struct HttpShared {
  HttpServerOptions options;
  HttpHandler handler;
  std::unique_ptr<TaskPool> pool;
  absl::Mutex mutex;
  bool closing ABSL_GUARDED_BY(mutex) = false;
  int streams ABSL_GUARDED_BY(mutex) = 0;

  bool IsClosing() {
    absl::MutexLock lock(&mutex);
    return closing;
  }
};

// States: new; busy (a task of the pool works: it answers, or makes a piece of the stream); ready
// (an answer or a piece waits for libmicrohttpd); idle (the stream waits to be woken); ended. The
// connection is suspended only in busy and idle, and who leaves them resumes it. Outside of these
// only libmicrohttpd's thread touches the connection.
class HttpExchange final : public std::enable_shared_from_this<HttpExchange> {
 public:
  HttpExchange(HttpShared& shared, MHD_Connection* connection)
      : shared_(shared), connection_(connection) {}
  ~HttpExchange();

  // libmicrohttpd's thread: the headers are complete, or the connection was resumed.
  MHD_Result OnRequest(const char* method, const char* path);
  // libmicrohttpd's thread: the body's next bytes, 0 after suspending, or one of MHD's end marks.
  ssize_t Read(char* buffer, size_t max_bytes);
  // libmicrohttpd's thread: the connection is gone or free for the next request.
  void OnCompleted();
  // Any thread: a stream may have more.
  void Wake();
  // Any thread: the server ends.
  void Abort();

 private:
  enum class State { kNew, kBusy, kReady, kIdle, kEnded };

  void ReadRequest(const char* method, const char* path);
  void Suspend() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Resume() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  MHD_Result Send(HttpResponse& response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer();
  void Produce();
  // One turn of Produce. False: nothing more to do now.
  bool ProduceOne();
  bool AdmitStream();
  void ReleaseStream();

  HttpShared& shared_;
  const absl::Time began_ = absl::Now();
  HttpRequest request_;  // written before the first task starts
  absl::Mutex mutex_;
  MHD_Connection* connection_ ABSL_GUARDED_BY(mutex_);
  State state_ ABSL_GUARDED_BY(mutex_) = State::kNew;
  bool suspended_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool sent_ ABSL_GUARDED_BY(mutex_) = false;  // the response was queued
  bool counted_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // the stream ended with an error
  HttpResponse response_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<HttpStream> stream_;  // of the task that is under way
  std::string piece_ ABSL_GUARDED_BY(mutex_);
  size_t piece_at_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time last_piece_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace qb::server

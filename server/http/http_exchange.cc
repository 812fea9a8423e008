#include "server/http/http_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"

namespace qb::server {
namespace {

std::string HeaderOf(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

MHD_Result AddQuery(void* request, MHD_ValueKind /*kind*/, const char* key, const char* value) {
  static_cast<HttpRequest*>(request)->query.emplace_back(key == nullptr ? "" : key,
                                                         value == nullptr ? "" : value);
  return MHD_YES;
}

ssize_t ReadPiece(void* exchange, uint64_t /*position*/, char* buffer, size_t max_bytes) {
  return (*static_cast<std::shared_ptr<HttpExchange>*>(exchange))->Read(buffer, max_bytes);
}

void FreeExchange(void* exchange) { delete static_cast<std::shared_ptr<HttpExchange>*>(exchange); }

HttpResponse Refused(int status, absl::string_view text) {
  HttpResponse response;
  response.status = status;
  response.body = std::string(text);
  return response;
}

bool IsKnownMethod(absl::string_view method) {
  return method == "GET" || method == "HEAD" || method == "POST" || method == "DELETE";
}

bool IsEvents(const HttpResponse& response) {
  return absl::StartsWith(response.content_type, "text/event-stream");
}

}  // namespace

HttpExchange::~HttpExchange() { ReleaseStream(); }

void HttpExchange::ReadRequest(const char* method, const char* path) {
  absl::MutexLock lock(&mutex_);
  request_.method = method;
  request_.path = path;
  MHD_get_connection_values(connection_, MHD_GET_ARGUMENT_KIND, AddQuery, &request_);
  request_.host = HeaderOf(connection_, MHD_HTTP_HEADER_HOST);
  request_.authorization = HeaderOf(connection_, MHD_HTTP_HEADER_AUTHORIZATION);
  request_.cookie = HeaderOf(connection_, MHD_HTTP_HEADER_COOKIE);
  request_.if_none_match = HeaderOf(connection_, MHD_HTTP_HEADER_IF_NONE_MATCH);
  request_.last_event_id = HeaderOf(connection_, "Last-Event-ID");
  request_.fetch_site = HeaderOf(connection_, "Sec-Fetch-Site");
  request_.wake = [weak = weak_from_this()] {
    if (auto self = weak.lock()) {
      self->Wake();
    }
  };
}

void HttpExchange::Suspend() {
  MHD_suspend_connection(connection_);
  suspended_ = true;
}

void HttpExchange::Resume() {
  if (suspended_) {
    suspended_ = false;
    MHD_resume_connection(connection_);
  }
}

MHD_Result HttpExchange::OnRequest(const char* method, const char* path) {
  {
    absl::MutexLock lock(&mutex_);
    if (state_ == State::kReady && !sent_) {
      sent_ = true;
      const MHD_Result result = Send(response_);
      response_.body.clear();
      return result;
    }
  }
  ReadRequest(method, path);
  const bool closing = shared_.IsClosing();
  absl::MutexLock lock(&mutex_);
  if (closing) {
    HttpResponse response = Refused(MHD_HTTP_SERVICE_UNAVAILABLE, "the server is ending\n");
    return Send(response);
  }
  if (!IsKnownMethod(request_.method)) {
    HttpResponse response =
        Refused(MHD_HTTP_METHOD_NOT_ALLOWED, "expected GET, HEAD, POST or DELETE\n");
    response.SetHeader("Allow", "GET, HEAD, POST, DELETE");
    return Send(response);
  }
  // Suspended first: the task may be done before this function is.
  Suspend();
  state_ = State::kBusy;
  if (!shared_.pool->TrySchedule([self = shared_from_this()] { self->Answer(); })) {
    state_ = State::kReady;
    response_ = Refused(MHD_HTTP_SERVICE_UNAVAILABLE, "too many requests are under way\n");
    response_.SetHeader("Retry-After", "1");
    Resume();
  }
  return MHD_YES;
}

void HttpExchange::Answer() {
  HttpResponse response = shared_.handler(request_);
  if (response.stream != nullptr && !AdmitStream()) {
    response = Refused(MHD_HTTP_SERVICE_UNAVAILABLE, "too many streams are open\n");
    response.SetHeader("Retry-After", "10");
  }
  if (shared_.options.on_done != nullptr) {
    shared_.options.on_done(
        {response.route, request_.method, response.status, absl::Now() - began_});
  }
  absl::MutexLock lock(&mutex_);
  stream_ = response.stream;
  response_ = std::move(response);
  last_piece_ = absl::Now();
  state_ = State::kReady;
  Resume();
}

// The lock is held; the response's callbacks run later, on the same thread.
MHD_Result HttpExchange::Send(HttpResponse& response) {
  MHD_Response* answer = nullptr;
  if (response.stream != nullptr) {
    const uint64_t bytes = response.stream_bytes.has_value()
                               ? static_cast<uint64_t>(*response.stream_bytes)
                               : MHD_SIZE_UNKNOWN;
    answer = MHD_create_response_from_callback(
        bytes, size_t{64} << 10, ReadPiece, new std::shared_ptr<HttpExchange>(shared_from_this()),
        FreeExchange);
  } else {
    answer = MHD_create_response_from_buffer(response.body.size(), response.body.data(),
                                             MHD_RESPMEM_MUST_COPY);
  }
  if (answer == nullptr) {
    return MHD_NO;
  }
  MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type.c_str());
  for (const auto& [name, value] : response.headers) {
    MHD_add_response_header(answer, name.c_str(), value.c_str());
  }
  const MHD_Result result =
      MHD_queue_response(connection_, static_cast<unsigned int>(response.status), answer);
  MHD_destroy_response(answer);
  return result;
}

ssize_t HttpExchange::Read(char* buffer, size_t max_bytes) {
  {
    absl::MutexLock lock(&mutex_);
    if (piece_at_ < piece_.size()) {
      const size_t count = std::min(max_bytes, piece_.size() - piece_at_);
      std::memcpy(buffer, piece_.data() + piece_at_, count);
      piece_at_ += count;
      return static_cast<ssize_t>(count);
    }
    if (state_ == State::kEnded) {
      return broken_ ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    }
    Suspend();
    state_ = State::kBusy;
  }
  // Without the lock: a pool that is ending runs the task here.
  shared_.pool->Schedule([self = shared_from_this()] { self->Produce(); });
  return 0;
}

void HttpExchange::Wake() {
  {
    absl::MutexLock lock(&mutex_);
    woken_ = true;
    if (state_ != State::kIdle) {
      return;
    }
    state_ = State::kBusy;
  }
  shared_.pool->Schedule([self = shared_from_this()] { self->Produce(); });
}

void HttpExchange::Produce() {
  while (ProduceOne()) {
  }
}

bool HttpExchange::ProduceOne() {
  const bool closing = shared_.IsClosing();
  {
    absl::MutexLock lock(&mutex_);
    if (closing || state_ == State::kEnded) {
      state_ = State::kEnded;
      Resume();
      return false;
    }
    woken_ = false;
  }
  std::string piece;
  const absl::StatusOr<StreamStep> step = stream_->Next(piece);
  absl::MutexLock lock(&mutex_);
  const bool waits = step.ok() && *step == StreamStep::kWait;
  const absl::Time now = absl::Now();
  if (waits && IsEvents(response_) && now - last_piece_ >= shared_.options.sign_of_life) {
    piece = ": alive\n\n";  // also how a client that has gone is noticed
  }
  if (!piece.empty()) {
    piece_ = std::move(piece);
    piece_at_ = 0;
    last_piece_ = now;
    if (state_ != State::kEnded) {
      state_ = State::kReady;
    }
  } else if (!waits || state_ == State::kEnded) {
    broken_ = !step.ok();
    state_ = State::kEnded;
  } else if (woken_) {
    return true;
  } else {
    state_ = State::kIdle;
    return false;
  }
  Resume();
  return false;
}

void HttpExchange::OnCompleted() {
  {
    absl::MutexLock lock(&mutex_);
    state_ = State::kEnded;
    connection_ = nullptr;
  }
  ReleaseStream();
  // A source may hold files and subscriptions: not for this thread to close.
  shared_.pool->Schedule([self = shared_from_this()] { self->stream_.reset(); });
}

void HttpExchange::Abort() {
  absl::MutexLock lock(&mutex_);
  if (connection_ == nullptr || !sent_) {
    return;  // an answer that is being made is given
  }
  const bool idle = state_ == State::kIdle;
  state_ = State::kEnded;
  if (idle) {
    Resume();
  }
}

bool HttpExchange::AdmitStream() {
  {
    absl::MutexLock lock(&shared_.mutex);
    if (shared_.closing || shared_.streams >= shared_.options.max_streams) {
      return false;
    }
    ++shared_.streams;
  }
  absl::MutexLock lock(&mutex_);
  counted_ = true;
  return true;
}

void HttpExchange::ReleaseStream() {
  bool counted = false;
  {
    absl::MutexLock lock(&mutex_);
    counted = std::exchange(counted_, false);
  }
  if (counted) {
    absl::MutexLock lock(&shared_.mutex);
    --shared_.streams;
  }
}

}  // namespace qb::server

// A call of any method with any bytes as its requests.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"

namespace qb::server {

// One call from its start to its end; responses are counted and thrown away.
class RawCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // `method`: "/qbc.v1.JobService/GetJob". After `max_responses` the call is cancelled.
  RawCall(grpc::GenericStub& stub, const std::string& method,
          const std::vector<std::string>& requests, std::chrono::milliseconds timeout,
          int max_responses = 20)
      : max_responses_(max_responses) {
    requests_.reserve(requests.size());
    for (const std::string& request : requests) {
      const grpc::Slice slice(request);
      requests_.emplace_back(&slice, 1);
    }
    context_.set_deadline(std::chrono::system_clock::now() + timeout);
    stub.PrepareBidiStreamingCall(&context_, method, {}, this);
    WriteNext();
    StartRead(&response_);
    StartCall();
  }

  const grpc::Status& Wait() {
    done_.WaitForNotification();
    return status_;
  }
  int responses() const { return responses_; }

 private:
  void WriteNext() {
    // Before the write: it may be done, on another thread, before StartWrite returns.
    const size_t next = written_++;
    if (next + 1 == requests_.size()) {
      StartWriteLast(&requests_[next], grpc::WriteOptions());
    } else {
      StartWrite(&requests_[next]);
    }
  }
  void OnWriteDone(bool ok) override {
    if (ok && written_ < requests_.size()) {
      WriteNext();
    }
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      return;
    }
    if (++responses_ == max_responses_) {
      context_.TryCancel();
    }
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    done_.Notify();
  }

  const int max_responses_;
  grpc::ClientContext context_;
  std::vector<grpc::ByteBuffer> requests_;
  size_t written_ = 0;
  grpc::ByteBuffer response_;
  int responses_ = 0;
  grpc::Status status_;
  absl::Notification done_;
};

}  // namespace qb::server

// Sends the frames of a FrameSource, one at a time, each made on the pool.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/status_macros.h"
#include "server/rpc/call_gate.h"
#include "server/rpc/status_conversion.h"
#include "server/rpc/unary_call.h"
#include "server/runtime/frame_source.h"
#include "server/runtime/task_pool.h"

namespace qb::server {

// States: idle (waits to be woken), busy (a task of the pool makes a frame), writing (gRPC has
// one), finished. Only a change out of idle starts a task, so at most one frame exists. It keeps
// itself alive until gRPC says OnDone; wakers hold weak pointers.
template <typename Frame>
class FrameWriter final : public grpc::ServerWriteReactor<Frame>,
                          public std::enable_shared_from_this<FrameWriter<Frame>> {
 public:
  using Open = std::function<absl::StatusOr<std::unique_ptr<FrameSource<Frame>>>(
      const Caller& caller, std::function<void()> wake)>;

  // `open` runs on the pool. The returned reactor is gRPC's until OnDone.
  static grpc::ServerWriteReactor<Frame>* Start(grpc::CallbackServerContext* context,
                                                const RpcParts& parts, Open open) {
    auto writer = std::shared_ptr<FrameWriter>(new FrameWriter(context, parts, std::move(open)));
    writer->self_ = writer;
    FrameWriter* reactor = writer.get();
    if (!parts.pool.TrySchedule([writer] { writer->Begin(); })) {
      reactor->FinishOnce(Overloaded(context));
    }
    return reactor;
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      FinishOnce(grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone"));
      return;
    }
    pool_.Schedule([self = this->shared_from_this()] { self->Produce(); });
  }

  void OnCancel() override {
    bool idle = false;
    {
      absl::MutexLock lock(&mutex_);
      cancelled_ = true;
      idle = state_ == State::kIdle;
      if (idle) {
        state_ = State::kBusy;
      }
    }
    if (idle) {
      FinishOnce(grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone"));
    }
  }

  void OnDone() override {
    // The source goes on the pool: gRPC's thread must not wait for a file.
    std::shared_ptr<FrameWriter> self = std::move(self_);
    pool_.Schedule([self = std::move(self)] { self->source_.reset(); });
  }

 private:
  enum class State { kIdle, kBusy, kFinished };

  FrameWriter(grpc::CallbackServerContext* context, const RpcParts& parts, Open open)
      : context_(context), pool_(parts.pool), gate_(parts.gate), open_(std::move(open)) {}

  void Begin() {
    auto source = OpenSource();
    if (!source.ok()) {
      FinishOnce(ToGrpcStatus(source.status(), context_));
      return;
    }
    source_ = *std::move(source);
    Produce();
  }

  absl::StatusOr<std::unique_ptr<FrameSource<Frame>>> OpenSource() {
    QB_RETURN_IF_ERROR(CheckDeadline(*context_));
    QB_ASSIGN_OR_RETURN(caller_, gate_.Admit(*context_));
    return open_(caller_, [weak = this->weak_from_this()] {
      if (auto self = weak.lock()) {
        self->Wake();
      }
    });
  }

  // A stream outlives neither its token nor its token's revocation.
  absl::StatusOr<StreamStep> NextFrame() {
    if (!gate_.StillGood(caller_)) {
      return absl::UnauthenticatedError("the credential is no longer valid");
    }
    return source_->Next(frame_);
  }

  // May be called by any thread; never waits.
  void Wake() {
    {
      absl::MutexLock lock(&mutex_);
      woken_ = true;
      if (state_ != State::kIdle) {
        return;
      }
      state_ = State::kBusy;
    }
    pool_.Schedule([self = this->shared_from_this()] { self->Produce(); });
  }

  void Produce() {
    while (true) {
      {
        absl::MutexLock lock(&mutex_);
        if (state_ == State::kFinished) {
          return;
        }
        woken_ = false;
        if (cancelled_) {
          break;
        }
      }
      const absl::StatusOr<StreamStep> step = NextFrame();
      if (!step.ok() || *step == StreamStep::kEnd) {
        FinishOnce(ToGrpcStatus(step.status(), context_));
        return;
      }
      if (*step == StreamStep::kSend) {
        this->StartWrite(&frame_);
        return;
      }
      absl::MutexLock lock(&mutex_);
      if (!woken_ && !cancelled_) {
        state_ = State::kIdle;
        return;
      }
    }
    FinishOnce(grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone"));
  }

  void FinishOnce(const grpc::Status& status) {
    {
      absl::MutexLock lock(&mutex_);
      if (state_ == State::kFinished) {
        return;
      }
      state_ = State::kFinished;
    }
    this->Finish(status);
  }

  grpc::CallbackServerContext* const context_;
  TaskPool& pool_;
  const CallGate& gate_;
  Open open_;
  Caller caller_;
  std::unique_ptr<FrameSource<Frame>> source_;  // of the task that is under way
  Frame frame_;
  std::shared_ptr<FrameWriter> self_;  // until OnDone
  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kBusy;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace qb::server

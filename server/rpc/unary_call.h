// Runs the work of a unary call on the pool: gRPC's own threads never wait.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/status_macros.h"
#include "server/auth/authorize.h"
#include "server/rpc/call_gate.h"
#include "server/rpc/status_conversion.h"

namespace qb::server {

inline grpc::Status Overloaded(grpc::ServerContextBase* context) {
  return ToGrpcStatus(
      absl::UnavailableError("OVERLOADED: the server has too many calls under way: try again"),
      context);
}

// Work whose answer nobody waits for is not begun.
inline absl::Status CheckDeadline(const grpc::ServerContextBase& context) {
  return context.deadline() > std::chrono::system_clock::now()
             ? absl::OkStatus()
             : absl::DeadlineExceededError(
                   "the deadline passed before the server came to the call");
}

// `work` fills in the response; request and response live until the call is finished.
inline grpc::ServerUnaryReactor* RunUnary(grpc::CallbackServerContext* context,
                                          const RpcParts& parts,
                                          std::function<absl::Status(const Caller&)> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto run = [context, &gate = parts.gate, work = std::move(work)]() -> absl::Status {
    QB_RETURN_IF_ERROR(CheckDeadline(*context));
    QB_ASSIGN_OR_RETURN(const Caller caller, gate.Admit(*context));
    return work(caller);
  };
  const bool scheduled = parts.pool.TrySchedule(
      [context, reactor, run] { reactor->Finish(ToGrpcStatus(run(), context)); });
  if (!scheduled) {
    reactor->Finish(Overloaded(context));
  }
  return reactor;
}

// As RunUnary for calls that may be refused before they take a thread: `admit` runs at once, on
// gRPC's thread, and must not wait. It is told the time until the caller's deadline.
inline grpc::ServerUnaryReactor* RunAdmitted(
    grpc::CallbackServerContext* context, const RpcParts& parts,
    const std::function<absl::Status(const Caller&, absl::Duration left)>& admit,
    std::function<absl::Status(const Caller&)> work) {
  const auto admitted = [&]() -> absl::Status {
    QB_RETURN_IF_ERROR(CheckDeadline(*context));
    QB_ASSIGN_OR_RETURN(const Caller caller, parts.gate.Admit(*context));
    return admit(caller, absl::FromChrono(context->deadline()) - absl::Now());
  };
  if (const absl::Status status = admitted(); !status.ok()) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(status, context));
    return reactor;
  }
  return RunUnary(context, parts, std::move(work));
}

}  // namespace qb::server

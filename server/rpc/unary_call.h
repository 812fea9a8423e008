// Runs the work of a unary call on the pool: gRPC's own threads never wait.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <utility>

#include "absl/status/status.h"

#include "server/auth/authorize.h"
#include "server/rpc/status_conversion.h"
#include "server/runtime/task_pool.h"

namespace qb::server {

// Who calls. Every adapter asks here.
inline Caller CallerOf(const grpc::CallbackServerContext& /*context*/) {
  return Caller{};  // one tenant until there are tokens
}

inline grpc::Status Overloaded(grpc::ServerContextBase* context) {
  return ToGrpcStatus(
      absl::UnavailableError("OVERLOADED: the server has too many calls under way: try again"),
      context);
}

// `work` fills in the response; request and response live until the call is finished.
inline grpc::ServerUnaryReactor* RunUnary(grpc::CallbackServerContext* context, TaskPool& pool,
                                          std::function<absl::Status()> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool scheduled = pool.TrySchedule([context, reactor, work = std::move(work)] {
    const absl::Status status = work();
    reactor->Finish(ToGrpcStatus(status, context));
  });
  if (!scheduled) {
    reactor->Finish(Overloaded(context));
  }
  return reactor;
}

}  // namespace qb::server

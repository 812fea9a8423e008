// Who may call on a listener, and what every adapter needs to run a call.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"

#include "server/auth/authenticator.h"
#include "server/auth/authorize.h"
#include "server/runtime/task_pool.h"

namespace qb::server {

// The caller of the listener of worker agents that needs no credential: reaching it is one.
Caller WorkerCaller();

// Thread-safe.
class CallGate {
 public:
  // Everybody who can connect is `everybody`.
  explicit CallGate(Caller everybody) : everybody_(std::move(everybody)) {}
  // Callers show a credential. `authenticator` outlives the gate.
  explicit CallGate(const Authenticator& authenticator) : authenticator_(&authenticator) {}

  // Errors: Unauthenticated.
  absl::StatusOr<Caller> Admit(const grpc::CallbackServerContext& context) const;
  // Whether a stream of this caller may go on.
  bool StillGood(const Caller& caller) const;

 private:
  const Authenticator* authenticator_ = nullptr;
  const Caller everybody_;
};

// The W3C trace context in the metadata "traceparent" of a call; "" when there is none or it is
// malformed: a caller's mistake in tracing costs it the trace and not the call.
std::string TraceparentOf(const grpc::CallbackServerContext& context);

// Of one listener; outlives its adapters.
struct RpcParts {
  TaskPool& pool;
  const CallGate& gate;
};

}  // namespace qb::server

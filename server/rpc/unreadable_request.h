// What a request that is no message of its method's type is answered.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace qb::server {

// gRPC's callback server answers such a request itself, with UNIMPLEMENTED and not a word: as if
// the method were not there. This makes it INVALID_ARGUMENT with the details of every other
// refusal, for the methods of `services` ("qbc.v1.JobService").
std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
UnreadableRequestAnswers(absl::Span<const absl::string_view> services);

}  // namespace qb::server

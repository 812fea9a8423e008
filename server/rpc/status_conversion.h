// From absl::Status to what goes over the wire.
#pragma once

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"

namespace qb::server {

// The codes are the same numbers. A FailureCode, if attached, becomes the trailer "qbc-failure" of
// `context` and the start of the message ("TARGET_ERROR: ..."); missing blobs become the trailer
// "qbc-missing-blobs". Call before Finish.
// Messages are cut to 4 KiB: gRPC drops trailers beyond 8 KiB together with the error they are
// about.
grpc::Status ToGrpcStatus(const absl::Status& status, grpc::ServerContextBase* context);

}  // namespace qb::server

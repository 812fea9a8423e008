// From absl::Status to what goes over the wire.
#pragma once

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"

namespace qb::server {

// The codes are the same numbers. The details are a google.rpc.Status of at most 4 KiB: an
// ErrorInfo always, a BadRequest with an InvalidArgument (of the payload kBadRequestPayload, else
// of the message; violations that find no room are left out and counted in the ErrorInfo). A
// FailureCode, if attached, is the ErrorInfo's reason, the trailer "qbc-failure" of `context` and
// the start of the message ("TARGET_ERROR: ..."); missing blobs become the trailer
// "qbc-missing-blobs". Call before Finish. Messages are cut: gRPC drops trailers beyond 8 KiB
// together with the error they are about.
grpc::Status ToGrpcStatus(const absl::Status& status, grpc::ServerContextBase* context);

}  // namespace qb::server

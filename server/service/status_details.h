// What an error tells a program besides its code and its text.
#pragma once

namespace qb::server {

// Payload of a FailedPrecondition from SubmitJob: digests, comma separated. On the wire it is the
// trailer "qbc-missing-blobs".
inline constexpr char kMissingBlobsPayload[] = "qbc/missing_blobs";

// Payload of an InvalidArgument: a serialized google.rpc.BadRequest with every violation. On the
// wire it becomes one of the details of the google.rpc.Status.
inline constexpr char kBadRequestPayload[] = "type.googleapis.com/google.rpc.BadRequest";

}  // namespace qb::server

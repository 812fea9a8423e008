// What an error tells a program besides its code and its text.
#pragma once

namespace qb::server {

// Payload of a FailedPrecondition from SubmitJob: digests, comma separated. On the wire it is the
// trailer "qbc-missing-blobs".
inline constexpr char kMissingBlobsPayload[] = "qbc/missing_blobs";

}  // namespace qb::server

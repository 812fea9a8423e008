// Artifacts as downloads, and reports as pages that can do nothing.
#pragma once

#include "absl/status/statusor.h"

#include "proto/qbc/v1/job.pb.h"
#include "server/http/http_message.h"
#include "server/service/blob_service.h"

namespace qb::server {

// What a compile wrote is not trusted: it is a download, and with ?view=1 a "*.html" is a page
// without scripts, without anything from elsewhere and without an origin. Errors: NotFound.
absl::StatusOr<HttpResponse> ArtifactResponse(BlobService& blobs, const Caller& caller,
                                              const qbc::v1::Artifact& artifact,
                                              const HttpRequest& request);

}  // namespace qb::server

// What is wrong with a request, field by field, as a part of an error.
#pragma once

#include <vector>

#include "absl/status/status.h"

#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {

// The violations that a server's error carries (google.rpc.BadRequest in its details); a server
// sends as many as fit.
std::vector<qbc::v1::FieldViolation> ViolationsOf(const absl::Status& status);

// InvalidArgument that carries all of them, with the first one's reason before the message as
// servers write it ("CONFIG_ERROR: ..."). Precondition: there is one.
absl::Status ViolationsError(const std::vector<qbc::v1::FieldViolation>& violations);

}  // namespace qb::client

// Everything that is wrong with a request, told at once.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "core/base/failure.h"

namespace qb::server {

struct Violation {
  FailureCode code;
  std::string field;        // path in the request, or of a compile setting
  std::string description;  // what was found and what is accepted
};

// Takes apart an error whose lines read "field: description". A line without a field gets
// `fallback_field`.
void AppendViolations(const absl::Status& status, absl::string_view fallback_field,
                      std::vector<Violation>& violations);

// OK when there are none. Otherwise InvalidArgument with the first one's FailureCode, a line each
// in the message, and all of them as the payload kBadRequestPayload.
absl::Status ViolationsStatus(const std::vector<Violation>& violations);

}  // namespace qb::server

// The argument of commands that are about one job.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "client/cpp/connection.h"
#include "core/base/flags.h"
#include "proto/qbc/v1/job.pb.h"

namespace qb::client {

// The one positional argument. Errors: usage.
absl::StatusOr<std::string> JobArgument(const ParsedFlags& flags);

absl::StatusOr<qbc::v1::Job> FetchJob(Connection& connection, const std::string& job_id);

}  // namespace qb::client

// A name for the work of a job: jobs with equal names may share one compile.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

#include "proto/qbc/v1/job.pb.h"

namespace qb::server {

// SHA-256, in hex, of everything that the result depends on but for the compiler build: the files
// and their roles, the target and the settings (`identity_json`, see ResolvedConfig). Threads,
// priority, labels and times are no part of it. Frozen: names are in databases; the encoding is our
// own because serialized messages are not canonical.
std::string ActionDigest(const qbc::v1::JobSpec& spec, absl::string_view identity_json);

}  // namespace qb::server

// The flags that say how the service treats a job's work: sharing and resources. `compile`,
// `submit` and `retry` have them.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "core/base/flags.h"
#include "proto/qbc/v1/job.pb.h"

namespace qb::client {

// --cache, --cpus, --memory, --gpus, --scratch.
absl::Span<const FlagDef> WorkFlags();

// Sets what the flags name and leaves the rest of `spec` as it is. Errors: usage.
absl::Status ApplyWorkFlags(const ParsedFlags& flags, qbc::v1::JobSpec& spec);

}  // namespace qb::client

// Jobs as text for a person.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

#include "proto/qbc/v1/job.pb.h"

namespace qb::client {

// Whose work the job shares, in words; "" when it has work of its own.
std::string SharedWork(const qbc::v1::Job& job);

// How long the server keeps the job: "until 2026-01-03T12:00:00.000Z", "until it is unpinned"; ""
// while it has not ended.
std::string KeptUntil(const qbc::v1::Job& job);

// One "key: value" line a field that is set.
std::string JobBlock(const qbc::v1::Job& job);

// A table with a header line: id, state, target, created, time, kept, detail. `now` ends the time of
// those that are under way.
std::string JobTable(const std::vector<qbc::v1::Job>& jobs, absl::Time now);

}  // namespace qb::client

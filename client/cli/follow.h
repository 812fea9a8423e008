// Following a job for a person: view, time limit, and what Ctrl-C means.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "client/cli/session.h"
#include "proto/qbc/v1/job.pb.h"

namespace qb::client {

// Shows the job's events until it has ended; the ended job.
//
// Ctrl-C once leaves the job alone and says how to come back: error with kExitInterrupted. Twice
// within the environment's window cancels it and waits for that: the cancelled job.
// Errors: kExitWaitTimeout after `timeout` (the job goes on); those of the server.
absl::StatusOr<qbc::v1::Job> FollowJob(Session& session, const std::string& job_id,
                                       int64_t after_seq, absl::Duration timeout);

}  // namespace qb::client

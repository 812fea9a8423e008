// How an attempt ended, decided from what its compile process did and said.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "core/base/failure.h"
#include "proto/qbc/v1/worker_service.pb.h"
#include "worker/agent/child_process.h"
#include "worker/agent/stop_signal.h"
#include "worker/agent/transcript.h"

namespace qb::worker {

struct Verdict {
  v1::AttemptOutcome outcome = v1::ATTEMPT_OUTCOME_UNSPECIFIED;  // UNSPECIFIED: report nothing
  v1::JobFailure failure;                                        // of FAILED and LOST
};

Verdict FailedVerdict(FailureCode code, absl::string_view message);
Verdict LostVerdict(FailureCode code, absl::string_view message);

// The verdict on a request to stop, when one was made before the process could say anything.
Verdict StoppedVerdict(const StopSignal& stop);

// Precedence: abandoned, sandbox violation, limits of memory, CPU, disk and output, time limit,
// request to stop (unless the result came first), signal, protocol (exactly one result with exit 0,
// or exactly one error), exit code. SUCCEEDED means that the outputs may be collected now.
Verdict DecideVerdict(const ExitReport& exit, const Transcript& transcript, const StopSignal& stop);

// The verdict when something of the agent's own failed before or after the process ran: `what`
// says where. NotFound and DataLoss of an input are INPUT_LOST, ResourceExhausted is DISK_LIMIT.
Verdict AgentFailureVerdict(const absl::Status& status, absl::string_view what);

}  // namespace qb::worker

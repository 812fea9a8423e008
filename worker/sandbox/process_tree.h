// The processes of a sandbox: the one that waits outside, the first inside, the program.
#pragma once

#include <signal.h>

#include <string>
#include <vector>

#include "worker/sandbox/failure.h"
#include "worker/sandbox/policy.h"

namespace qb::sandbox {

// Asks the process outside to end everything inside and then itself: unlike with SIGKILL, when it
// has ended, all have.
inline constexpr int kKillSignal = SIGUSR2;

// Runs `program` inside a sandbox and ends as it ended: with its exit code, or by its signal. When
// the program ends, or this process or the first one inside is killed, every process inside ends,
// whatever it did to get away: the process namespace goes. Without that layer the first process
// inside takes up what its children leave behind and kills it.
//
// A failed start writes its errno, as an int, and the step, as text, to `report_fd` and exits with
// 127; `report_fd` is closed without a word once the program has begun. Never returns. One thread.
[[noreturn]] void RunInSandbox(const Policy& policy, const std::vector<std::string>& program,
                               int report_fd);

// What the program goes through last: limits, capabilities, no_new_privs, Landlock, seccomp. For
// RunInSandbox and the probes.
Outcome GiveUpRights(const Policy& policy);

}  // namespace qb::sandbox

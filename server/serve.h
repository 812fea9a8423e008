// A server's life in its process: from the start to the end that a signal asks for.
#pragma once

#include <signal.h>

#include <atomic>

#include "absl/status/status.h"

#include "core/base/log_line.h"
#include "server/server_flags.h"

namespace qb::server {

// Exit code of a server that was told to end at once.
inline constexpr int kExitAtOnce = 130;

// Runs until one of `signals`, which are blocked in every thread, or until the store fails, which
// sets `store_failed`. The end takes its time: health says so at once and new jobs are refused, all
// else goes on for flags.drain_delay, then streams end, local agents give their jobs back, and the
// store is closed. A second signal ends the process at once with kExitAtOnce: what was accepted is
// on disk. Errors: those of BuildServer; InvalidArgument for programs that cannot be run.
absl::Status Serve(ServerFlags flags, const Log& log, const sigset_t& signals,
                   std::atomic<bool>& store_failed);

// The path of this program.
std::string OwnPath();

}  // namespace qb::server

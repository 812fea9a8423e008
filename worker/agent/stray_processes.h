// Finding processes that an attempt left behind.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace qb::worker {

// The environment variable that every compile process gets: the folder of its attempt.
inline constexpr char kAttemptDirVariable[] = "QBC_ATTEMPT_DIR";

// Kills (SIGKILL) every process, whatever its group or session, whose environment says that it
// belongs to `folder` or to a folder beneath it, and waits until they are gone (at most 5 s).
// Returns how many were found. Processes of other users are left alone.
int KillStrayProcesses(const std::string& folder);

}  // namespace qb::worker

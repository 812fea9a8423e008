// `qbc-server --check-config`: could a server start with these flags, here, now?
#pragma once

#include <ostream>

#include "server/finding.h"
#include "server/server_flags.h"

namespace qb::server {

// Listeners, TLS files, credentials, programs, folders to write to. Changes nothing.
void CheckAccess(const ServerFlags& flags, Findings& findings);
// The data folder, its disk and its database. Changes nothing; a server may be using it.
void CheckDataFolder(const ServerFlags& flags, Findings& findings);

// Prints what is worth knowing to `out` and problems to `err`. Returns the exit code: 0 or 2.
int RunConfigCheck(const ServerFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace qb::server

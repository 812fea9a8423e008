// seccomp: which system calls a compile process may make.
#pragma once

#include "worker/sandbox/failure.h"

namespace qb::sandbox {

// What a compiler needs is allowed; what only an attacker needs kills the process with SIGSYS; all
// else fails with EPERM (clone3 with ENOSYS, so that the C library falls back to clone). For the
// caller and its children, for ever. Needs no_new_privs or CAP_SYS_ADMIN.
Outcome FilterSystemCalls();

}  // namespace qb::sandbox

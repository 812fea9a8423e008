// A root of its own: what a process may see, and nothing else.
#pragma once

#include "worker/sandbox/failure.h"
#include "worker/sandbox/policy.h"

namespace qb::sandbox {

// Builds a small file system on policy.root, with the paths of the policy bound to their own names,
// and makes it the root of the caller's mount namespace. Runs in the process that is number 1 of a
// new process namespace, if there is one, so that /proc shows that one.
Outcome EnterRoot(const Policy& policy);

}  // namespace qb::sandbox

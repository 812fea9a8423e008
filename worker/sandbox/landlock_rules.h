// Landlock: the kernel refuses files by path, whatever can be seen of them.
#pragma once

#include "worker/sandbox/failure.h"
#include "worker/sandbox/policy.h"

namespace qb::sandbox {

// The version of Landlock in this kernel; 0: none.
int LandlockVersion();

// From now on the caller and its children reach only the policy's paths, each as the policy says,
// and open no TCP connection (version 4 and up). Needs no_new_privs or CAP_SYS_ADMIN.
Outcome RestrictFiles(const Policy& policy);

}  // namespace qb::sandbox

// Namespaces of its own for a process.
#pragma once

#include "worker/sandbox/failure.h"
#include "worker/sandbox/policy.h"

namespace qb::sandbox {

// Leaves the namespaces of the caller, each layer by itself, so that a failure names its layer. In
// the user namespace the caller keeps its user and group number and holds every capability. The
// layer pid applies to later children. One thread.
Outcome EnterNamespaces(const LayerSet& layers);

// Takes every capability from what this process will execute, whoever its user is.
Outcome BoundCapabilities();

// Gives up those that it has itself.
Outcome DropCapabilities();

}  // namespace qb::sandbox

// Which layers of the sandbox this machine really has: each is put on in a child, which then tries
// what the layer forbids.
#pragma once

#include <stdio.h>

#include <string>
#include <vector>

#include "worker/sandbox/layers.h"

namespace qb::sandbox {

struct Probe {
  Layer layer;
  bool active = false;
  std::string why_not;  // "" when it is active
};

// One result a layer, in the order of kLayers. Takes some milliseconds. One thread.
std::vector<Probe> ProbeLayers();

// "pid\tactive\t" or "pid\tunavailable\tOperation not permitted", one line a layer. True when all
// are active.
bool PrintProbes(FILE* out);

}  // namespace qb::sandbox

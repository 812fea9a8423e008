// How compile processes are confined on this machine: the sandbox program, the layers of it that
// work here, and the control groups that limit what an attempt uses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "worker/agent/child_process.h"
#include "worker/agent/resource_group.h"
#include "worker/sandbox/layers.h"

namespace qb::worker {

// Of one attempt; 0 and InfiniteDuration: none.
struct ConfinementLimits {
  int64_t memory_bytes = 0;
  absl::Duration cpu_time = absl::InfiniteDuration();
  int64_t scratch_bytes = int64_t{64} << 30;
  int64_t scratch_files = 200'000;
  int64_t output_bytes = int64_t{1} << 30;  // on stdout and stderr
  int64_t processes = 512;
};

struct Confinement {
  std::string helper;  // qbc-sandbox; "": no sandbox
  sandbox::LayerSet layers;
  std::string missing;  // layers that this machine lacks, with the reasons; "": none
  GroupParent groups;
  ConfinementLimits limits;  // of attempts that ask for none

  // For the log: which layers and which groups.
  std::string ToString() const;
};

// What `helper` (its path) finds out about this machine, and where groups can be made.
// Errors: NotFound when the program is not there; Internal when it does not answer.
absl::StatusOr<Confinement> ProbeConfinement(const std::string& helper);

// The command that runs `plain` in the sandbox. Its program, its libraries and what lies in its
// folder may be read, out/ and tmp/ there be written. Unchanged without a helper; `group` may be
// null. `gpus`: the process may use the machine's GPU devices.
ChildOptions Confine(const Confinement& confinement, const ConfinementLimits& limits,
                     const ResourceGroup* group, bool gpus, ChildOptions plain);

}  // namespace qb::worker

#include "server/dispatch/worker_resources.h"

#include <algorithm>
#include <cstdint>

namespace qb::server {

Resources ResourcesOf(const qbc::v1::WorkerCapabilities& capabilities) {
  Resources total;
  total.cpus = std::max(0, capabilities.cpus());
  total.memory_bytes = std::max<int64_t>(0, capabilities.memory_bytes());
  total.gpus = capabilities.gpus_size();
  total.scratch_bytes = std::max<int64_t>(0, capabilities.scratch_bytes());
  return total;
}

WorkerRoom RoomOf(const qbc::v1::WorkerCapabilities& capabilities) {
  WorkerRoom room;
  room.targets.assign(capabilities.targets().begin(), capabilities.targets().end());
  room.total = ResourcesOf(capabilities);
  return room;
}

}  // namespace qb::server

// What the dispatcher says about the workers that are connected.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/dispatch/dispatcher.h"
#include "server/dispatch/worker_resources.h"

namespace qb::server {

std::vector<qbc::v1::WorkerSummary> Dispatcher::ListWorkers() const {
  absl::MutexLock lock(&mutex_);
  const int64_t now_ms = clock_.MonotonicMs();
  std::vector<qbc::v1::WorkerSummary> summaries;
  for (const auto& [worker_id, worker] : workers_) {
    const std::string& id = worker_id;
    if (now_ms - worker.seen_ms >= options_.lease_ttl_ms) {
      continue;
    }
    qbc::v1::WorkerSummary summary;
    summary.set_worker_id(id);
    summary.set_compiler_build(worker.capabilities.compiler_build());
    summary.set_slots(worker.capabilities.slots());
    summary.set_busy_slots(
        static_cast<int32_t>(std::count_if(leases_.begin(), leases_.end(), [&](const auto& entry) {
          return entry.second.attempt.worker_id == id;
        })));
    summary.set_has_gpu(worker.capabilities.gpus_size() > 0);
    summary.set_draining(worker.draining);
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::string Dispatcher::WhyNobody(const std::string& target, const Resources& needs) const {
  std::vector<WorkerRoom> rooms;
  {
    absl::MutexLock lock(&mutex_);
    const int64_t now_ms = clock_.MonotonicMs();
    for (const auto& [id, worker] : workers_) {
      if (now_ms - worker.seen_ms < options_.lease_ttl_ms && !worker.draining) {
        rooms.push_back(RoomOf(worker.capabilities));
      }
    }
  }
  constexpr absl::string_view kCode = "NO_CAPABLE_WORKER: ";
  if (rooms.empty()) {
    return absl::StrCat(kCode, "no worker is connected");
  }
  const auto nobody = [&](absl::string_view wanted_target, const Resources& wanted) {
    return std::none_of(rooms.begin(), rooms.end(), [&](const WorkerRoom& room) {
      return CanRun(room, wanted_target, wanted);
    });
  };
  if (!nobody(target, needs)) {
    return "";
  }
  if (nobody(target, {})) {
    return absl::StrCat(kCode, "no connected worker compiles for '", target, "'");
  }
  if (nobody(target, {.gpus = needs.gpus})) {
    return absl::StrCat(kCode, "no connected worker has ", needs.gpus, " GPUs");
  }
  if (nobody(target, {.cpus = needs.cpus})) {
    return absl::StrCat(kCode, "no connected worker has ", needs.cpus, " CPUs");
  }
  if (nobody(target, {.memory_bytes = needs.memory_bytes})) {
    return absl::StrCat(kCode, "no connected worker has ", needs.memory_bytes, " bytes of memory");
  }
  if (nobody(target, {.scratch_bytes = needs.scratch_bytes})) {
    return absl::StrCat(kCode, "no connected worker has ", needs.scratch_bytes,
                        " bytes of scratch space");
  }
  return absl::StrCat(kCode, "no connected worker has all at once: ", needs.cpus, " CPUs, ",
                      needs.memory_bytes, " bytes of memory, ", needs.gpus, " GPUs, ",
                      needs.scratch_bytes, " bytes of scratch space");
}

std::vector<std::string> Dispatcher::CompilerBuilds() const {
  absl::MutexLock lock(&mutex_);
  const int64_t now_ms = clock_.MonotonicMs();
  std::vector<std::string> builds;
  for (const auto& [id, worker] : workers_) {
    if (now_ms - worker.seen_ms < options_.lease_ttl_ms) {
      builds.push_back(worker.capabilities.compiler_build());
    }
  }
  std::sort(builds.begin(), builds.end());
  builds.erase(std::unique(builds.begin(), builds.end()), builds.end());
  return builds;
}

}  // namespace qb::server

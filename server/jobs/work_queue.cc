#include "server/jobs/work_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace qb::server {
namespace {

constexpr int64_t kAgingStepMs = 60'000;
constexpr int64_t kMaxAging = 50;
constexpr int kInteractiveFrom = 34;
constexpr int kNormalFrom = -33;
// Room is kept on a worker only while the worker asks for work.
constexpr int64_t kReservationMs = 60'000;

int BandOf(int effective) {
  if (effective >= kInteractiveFrom) {
    return 2;
  }
  return effective >= kNormalFrom ? 1 : 0;
}

int EffectivePriority(const WaitingWork& work, int64_t now_ms) {
  const int64_t waited_ms = std::max<int64_t>(0, now_ms - work.enqueued_ms);
  return work.priority + static_cast<int>(std::min(kMaxAging, waited_ms / kAgingStepMs));
}

// What was not told is no limit.
Resources TotalOf(const WorkerRoom& room) {
  Resources total = room.total;
  for (int64_t* value : {&total.cpus, &total.memory_bytes, &total.scratch_bytes}) {
    *value = *value == 0 ? INT64_MAX / 2 : *value;
  }
  return total;
}

double ShareOfOne(int64_t part, int64_t whole) {
  return whole <= 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double ShareOf(const WorkerRoom& room, const Resources& held) {
  return std::min(1.0,
                  std::max({1.0 / std::max(1, room.slots), ShareOfOne(held.cpus, room.total.cpus),
                            ShareOfOne(held.memory_bytes, room.total.memory_bytes),
                            ShareOfOne(held.gpus, room.total.gpus),
                            ShareOfOne(held.scratch_bytes, room.total.scratch_bytes)}));
}

bool CanRun(const WorkerRoom& room, absl::string_view target, const Resources& needs) {
  const bool has_target =
      room.targets.empty() ||
      std::find(room.targets.begin(), room.targets.end(), target) != room.targets.end();
  return has_target && TotalOf(room).Holds(needs);
}

// ---- what waits and runs

double WorkQueue::Used(const Tenant& tenant, int64_t now_ms) {
  return tenant.used + tenant.running_cost * static_cast<double>(now_ms) - tenant.running_since;
}

// A tenant that had nothing starts where the least served of the others is.
WorkQueue::Tenant& WorkQueue::Enter(const std::string& name, int64_t now_ms) {
  Tenant& tenant = tenants_[name];
  if (tenant.works++ == 0) {
    std::optional<double> least;
    for (const auto& [other, state] : tenants_) {
      if (other != name && state.works > 0) {
        least = std::min(least.value_or(Used(state, now_ms)), Used(state, now_ms));
      }
    }
    tenant.used = std::max(tenant.used, least.value_or(tenant.used));
  }
  return tenant;
}

void WorkQueue::SetWeight(const std::string& name, double weight) {
  Tenant& tenant = tenants_[name];
  const double factor = tenant.weight / weight;
  tenant.weight = weight;
  tenant.running_cost *= factor;
  tenant.running_since *= factor;
}

void WorkQueue::AddReady(const WaitingWork& work) {
  tenants_[work.tenant]
      .ready[Shape{work.target, work.needs, work.prefers_gpu}][work.priority]
      .emplace(work.enqueued_ms, work.id);
}

void WorkQueue::RemoveReady(const WaitingWork& work) {
  auto& ready = tenants_[work.tenant].ready;
  const auto shape = ready.find(Shape{work.target, work.needs, work.prefers_gpu});
  if (shape == ready.end()) {
    return;
  }
  const auto level = shape->second.find(work.priority);
  if (level == shape->second.end()) {
    return;
  }
  level->second.erase({work.enqueued_ms, work.id});
  if (level->second.empty()) {
    shape->second.erase(level);
  }
  if (shape->second.empty()) {
    ready.erase(shape);
  }
}

void WorkQueue::Drop(int64_t id, int64_t now_ms) {
  if (const auto it = waiting_.find(id); it != waiting_.end()) {
    RemoveReady(it->second);
    delayed_.erase({it->second.run_after_ms, id});
    --tenants_[it->second.tenant].works;
    waiting_.erase(it);
  }
  if (const auto it = running_.find(id); it != running_.end()) {
    const RunningWork& work = it->second;
    Tenant& tenant = tenants_[work.tenant];
    const double cost = work.cost / tenant.weight;
    tenant.used += cost * static_cast<double>(std::max<int64_t>(0, now_ms - work.start_ms));
    tenant.running_cost -= cost;
    tenant.running_since -= cost * static_cast<double>(work.start_ms);
    --tenant.running;
    if (--tenant.works == 0) {
      tenant.running_cost = 0;  // no rounding errors stay behind
      tenant.running_since = 0;
    }
    std::set<int64_t>& ids = by_worker_[work.worker];
    ids.erase(id);
    if (ids.empty()) {
      by_worker_.erase(work.worker);
    }
    running_.erase(it);
  }
}

void WorkQueue::Wait(WaitingWork work, int64_t now_ms) {
  const int64_t id = work.id;
  Enter(work.tenant, now_ms);  // before Drop: its tenant must not look idle in between
  Drop(id, now_ms);
  if (work.run_after_ms > now_ms) {
    delayed_.emplace(work.run_after_ms, id);
  } else {
    AddReady(work);
  }
  waiting_.insert_or_assign(id, std::move(work));
}

void WorkQueue::Run(RunningWork work, int64_t now_ms) {
  Tenant& tenant = Enter(work.tenant, now_ms);
  Drop(work.id, now_ms);
  reservations_.erase(work.id);
  const double cost = work.cost / tenant.weight;
  tenant.running_cost += cost;
  tenant.running_since += cost * static_cast<double>(work.start_ms);
  ++tenant.running;
  by_worker_[work.worker].insert(work.id);
  const int64_t id = work.id;
  running_.insert_or_assign(id, std::move(work));
}

void WorkQueue::Forget(int64_t id, int64_t now_ms) {
  Drop(id, now_ms);
  reservations_.erase(id);
}

std::optional<int64_t> WorkQueue::NextRunAfter() const {
  return delayed_.empty() ? std::nullopt : std::optional<int64_t>(delayed_.begin()->first);
}

// ---- the choice

void WorkQueue::MakeReady(int64_t now_ms) {
  while (!delayed_.empty() && delayed_.begin()->first <= now_ms) {
    AddReady(waiting_.at(delayed_.begin()->second));
    delayed_.erase(delayed_.begin());
  }
}

// Null when there is none that may be chosen.
const WaitingWork* WorkQueue::Oldest(const std::set<std::pair<int64_t, int64_t>>& level,
                                     int64_t now_ms, const std::set<int64_t>& skip) const {
  for (const auto& [enqueued_ms, id] : level) {
    const WaitingWork& work = waiting_.at(id);
    if (!skip.contains(id) && work.expires_ms > now_ms) {
      return &work;
    }
  }
  return nullptr;
}

bool WorkQueue::RunsAllItMay(const std::string& name, const Tenant& tenant) const {
  const int64_t limit = running_limit_ == nullptr ? 0 : running_limit_(name);
  return limit > 0 && tenant.running >= limit;
}

// The oldest work of each tenant, shape and priority that the worker could run, best first.
std::vector<WorkQueue::Candidate> WorkQueue::Candidates(const WorkerRoom& room, int64_t now_ms,
                                                        const std::set<int64_t>& skip) {
  std::vector<Candidate> candidates;
  held_back_ = false;
  for (const auto& [name, tenant] : tenants_) {
    if (!tenant.ready.empty() && RunsAllItMay(name, tenant)) {
      held_back_ = true;
      continue;
    }
    const double used = Used(tenant, now_ms);
    for (const auto& [shape, levels] : tenant.ready) {
      if (!CanRun(room, shape.target, shape.needs)) {
        continue;
      }
      for (const auto& [priority, level] : levels) {
        if (const WaitingWork* work = Oldest(level, now_ms, skip); work != nullptr) {
          const int effective = EffectivePriority(*work, now_ms);
          candidates.push_back({work, BandOf(effective), effective, used, tenant.running_cost});
        }
      }
    }
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::make_tuple(-a.band, a.tenant_used, a.tenant_cost, -a.effective, a.work->enqueued_ms,
                           a.work->id) < std::make_tuple(-b.band, b.tenant_used, b.tenant_cost,
                                                         -b.effective, b.work->enqueued_ms,
                                                         b.work->id);
  });
  return candidates;
}

Resources WorkQueue::Free(const WorkerRoom& room) const {
  Resources free = TotalOf(room);
  if (const auto ids = by_worker_.find(room.worker); ids != by_worker_.end()) {
    for (int64_t id : ids->second) {
      free -= running_.at(id).held;
    }
  }
  return free;
}

// When, at the latest, the running work has left room for `needs`. Now, so that nothing goes first,
// when that is not known.
int64_t WorkQueue::FitsFrom(const WorkerRoom& room, const Resources& needs, int64_t now_ms) const {
  Resources free = Free(room);
  std::vector<std::pair<int64_t, Resources>> ends;
  if (const auto ids = by_worker_.find(room.worker); ids != by_worker_.end()) {
    for (int64_t id : ids->second) {
      ends.emplace_back(running_.at(id).latest_end_ms, running_.at(id).held);
    }
  }
  std::sort(ends.begin(), ends.end());
  for (const auto& [end_ms, held] : ends) {
    free += held;
    if (free.Holds(needs)) {
      return end_ms == INT64_MAX ? now_ms : end_ms;
    }
  }
  return now_ms;
}

WorkQueue::KeptRoom WorkQueue::KeepRoom(const WorkerRoom& room, const Resources& needs,
                                        int64_t now_ms) const {
  KeptRoom kept{FitsFrom(room, needs, now_ms), Free(room)};
  if (const auto ids = by_worker_.find(room.worker); ids != by_worker_.end()) {
    for (int64_t id : ids->second) {
      const RunningWork& running = running_.at(id);
      kept.spare += running.latest_end_ms <= kept.from_ms ? running.held : Resources();
    }
  }
  kept.spare -= needs;
  return kept;
}

// True when `worker` is the one that keeps room for the work.
bool WorkQueue::Reserve(int64_t id, const std::string& worker, int64_t now_ms) {
  Reservation& reservation = reservations_[id];
  if (reservation.worker != worker && !reservation.worker.empty() &&
      now_ms - reservation.seen_ms <= kReservationMs) {
    return false;
  }
  reservation = {worker, now_ms};
  return true;
}

// What `work`, for which there is free room, would hold; absent when it would stand in the way of
// the work that room is kept for.
std::optional<WorkQueue::Choice> WorkQueue::Fit(const WorkerRoom& room, const WaitingWork& work,
                                                const Resources& free,
                                                const std::optional<KeptRoom>& kept,
                                                int64_t now_ms) {
  const auto leaves_room = [&](const Resources& held) {
    return !kept.has_value() || work.run_timeout_ms <= kept->from_ms - now_ms ||
           kept->spare.Holds(held);
  };
  Choice choice{work.id, work.needs, 0};
  if (work.prefers_gpu && choice.held.gpus == 0 && free.gpus > 0) {
    choice.held.gpus = 1;
  }
  if (!leaves_room(choice.held)) {
    choice.held = work.needs;  // perhaps without the GPU
  }
  if (!leaves_room(choice.held)) {
    return std::nullopt;
  }
  choice.cost = ShareOf(room, choice.held);
  return choice;
}

std::optional<WorkQueue::Choice> WorkQueue::Choose(const WorkerRoom& room, int64_t now_ms,
                                                   const std::set<int64_t>& skip) {
  MakeReady(now_ms);
  const Resources free = Free(room);
  std::optional<KeptRoom> kept;
  for (const Candidate& candidate : Candidates(room, now_ms, skip)) {
    const WaitingWork& work = *candidate.work;
    if (!free.Holds(work.needs)) {
      if (!kept.has_value() && Reserve(work.id, room.worker, now_ms)) {
        kept = KeepRoom(room, work.needs, now_ms);
      }
    } else if (std::optional<Choice> choice = Fit(room, work, free, kept, now_ms)) {
      return choice;
    }
  }
  return std::nullopt;
}

}  // namespace qb::server

#include "server/jobs/job_state.h"

#include <algorithm>
#include <array>

namespace qb::server {
namespace {

struct Arrow {
  pb::JobState from;
  pb::JobState to;
};

constexpr auto kArrows = std::to_array<Arrow>({
    {pb::JOB_STATE_UNSPECIFIED, pb::JOB_STATE_QUEUED},    // submit
    {pb::JOB_STATE_QUEUED, pb::JOB_STATE_RUNNING},        // lease
    {pb::JOB_STATE_QUEUED, pb::JOB_STATE_CANCELLED},      // cancel of what has not begun
    {pb::JOB_STATE_QUEUED, pb::JOB_STATE_EXPIRED},        // queue_ttl
    {pb::JOB_STATE_RUNNING, pb::JOB_STATE_SUCCEEDED},     // result
    {pb::JOB_STATE_RUNNING, pb::JOB_STATE_FAILED},        // error, or the budget of losses is spent
    {pb::JOB_STATE_RUNNING, pb::JOB_STATE_RETRY_WAIT},    // attempt lost
    {pb::JOB_STATE_RUNNING, pb::JOB_STATE_QUEUED},        // attempt given back by a draining agent
    {pb::JOB_STATE_RUNNING, pb::JOB_STATE_CANCELLING},    // cancel of what runs
    {pb::JOB_STATE_RUNNING, pb::JOB_STATE_CANCELLED},     // cancel of a job whose work others want
    {pb::JOB_STATE_RETRY_WAIT, pb::JOB_STATE_RUNNING},    // lease
    {pb::JOB_STATE_RETRY_WAIT, pb::JOB_STATE_CANCELLED},  // cancel
    {pb::JOB_STATE_CANCELLING, pb::JOB_STATE_CANCELLED},  // the agent ended it, or was lost
    {pb::JOB_STATE_CANCELLING, pb::JOB_STATE_SUCCEEDED},  // the result won the race
    {pb::JOB_STATE_CANCELLING, pb::JOB_STATE_FAILED},     // the error won the race
});

constexpr auto kStates = std::to_array<pb::JobState>({
    pb::JOB_STATE_QUEUED,
    pb::JOB_STATE_RUNNING,
    pb::JOB_STATE_RETRY_WAIT,
    pb::JOB_STATE_CANCELLING,
    pb::JOB_STATE_SUCCEEDED,
    pb::JOB_STATE_FAILED,
    pb::JOB_STATE_CANCELLED,
    pb::JOB_STATE_EXPIRED,
});

}  // namespace

absl::Span<const pb::JobState> AllJobStates() { return kStates; }

bool IsTerminal(pb::JobState state) { return state >= pb::JOB_STATE_SUCCEEDED; }

bool IsWaiting(pb::JobState state) {
  return state == pb::JOB_STATE_QUEUED || state == pb::JOB_STATE_RETRY_WAIT;
}

bool MayChange(pb::JobState from, pb::JobState to) {
  return std::any_of(kArrows.begin(), kArrows.end(),
                     [&](const Arrow& arrow) { return arrow.from == from && arrow.to == to; });
}

absl::string_view JobStateWord(pb::JobState state) {
  const std::string& name = pb::JobState_Name(state);
  absl::string_view word = name;
  word.remove_prefix(std::min(word.size(), sizeof("JOB_STATE_") - 1));
  return word;
}

}  // namespace qb::server

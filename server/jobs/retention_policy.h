// How long what has ended is kept.
#pragma once

#include <cstdint>

#include "proto/qbc/v1/job.pb.h"

namespace qb::server {

struct RetentionPolicy {
  static constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;

  // From a job's end; pinned jobs stay. Defaults: 30, 90 and 7 days.
  int64_t succeeded_ms = 30 * kDayMs;
  int64_t failed_ms = 90 * kDayMs;
  int64_t cancelled_ms = 7 * kDayMs;  // and expired ones
  // A result that answers equal jobs at once, from the last job that it answered. Default 30 days.
  int64_t results_ms = 30 * kDayMs;
  // A file that nothing refers to, and an upload that broke off. Default 7 days.
  int64_t unused_ms = 7 * kDayMs;

  // Of a job that ended in this state.
  int64_t KeepMs(qbc::v1::JobState state) const {
    switch (state) {
      case qbc::v1::JOB_STATE_SUCCEEDED:
        return succeeded_ms;
      case qbc::v1::JOB_STATE_FAILED:
        return failed_ms;
      default:
        return cancelled_ms;
    }
  }
};

}  // namespace qb::server

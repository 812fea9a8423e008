// What the outside may know about the server's own state: the probes and the metrics.
#pragma once

#include <sys/statvfs.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

#include "server/metrics/server_metrics.h"

namespace qb::server {

// Made before the store, which reports to it.
struct ServerWatch {
  static constexpr int64_t kLongestTickMs = 10'000;

  // The ticker works through the store: it stands still when that does.
  absl::Status Alive(int64_t now_ms) const {
    return now_ms - last_tick_ms < kLongestTickMs
               ? absl::OkStatus()
               : absl::UnavailableError("the store has not answered for 10 s");
  }

  absl::Status Ready(const std::string& data_dir, int64_t min_free_bytes) const {
    if (draining) {
      return absl::UnavailableError("the server is ending");
    }
    if (store_failed) {
      return absl::UnavailableError("the store has failed");
    }
    struct statvfs disk = {};
    if (statvfs(data_dir.c_str(), &disk) != 0 ||
        static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) <
            static_cast<double>(min_free_bytes)) {
      return absl::UnavailableError("the disk of the data folder is full");
    }
    return absl::OkStatus();
  }

  std::atomic<bool> draining = false;
  std::atomic<bool> store_failed = false;
  std::atomic<int64_t> last_tick_ms = 0;
  ServerMetrics metrics;
};

}  // namespace qb::server

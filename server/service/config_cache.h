// Settings that were resolved before: a farm sends the same ones again and again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

#include "core/base/digest.h"
#include "server/service/config_resolution.h"

namespace qb::server {

// Thread-safe. Forgets everything when it is full, which costs one resolution of each.
class ConfigCache {
 public:
  // ResolveConfig(spec, violations); only what has no violation is kept.
  ResolvedConfig Resolve(const qbc::v1::JobSpec& spec, std::vector<Violation>& violations) {
    const std::string key = Key(spec);
    {
      absl::MutexLock lock(&mutex_);
      if (const auto found = configs_.find(key); found != configs_.end()) {
        return found->second;
      }
    }
    const size_t before = violations.size();
    ResolvedConfig config = ResolveConfig(spec, violations);
    if (violations.size() == before) {
      absl::MutexLock lock(&mutex_);
      if (configs_.size() >= kMaxEntries) {
        configs_.clear();
      }
      configs_.insert_or_assign(key, config);
    }
    return config;
  }

 private:
  static constexpr size_t kMaxEntries = 256;

  // Everything that ResolveConfig looks at.
  static std::string Key(const qbc::v1::JobSpec& spec) {
    qbc::v1::JobSpec seen;
    *seen.mutable_config() = spec.config();
    seen.set_target_device(spec.target_device());
    seen.set_device(spec.device());
    seen.set_threads(spec.threads());
    if (spec.calibration_size() > 0) {
      seen.add_calibration();  // whether there are any
    }
    return Sha256Hex(seen.SerializeAsString());
  }

  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, ResolvedConfig> configs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server

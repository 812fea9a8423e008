// Reads samples on a thread of its own, a few ahead of those who use them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/dataset/dataset.h"

namespace qb {

// The same samples as `source`, which outlives it. While Load is called in about increasing order,
// up to `depth` samples beyond the last one asked for are read and kept; a call out of order reads
// its sample itself. Thread-safe.
class ReadAhead final : public Dataset {
 public:
  ReadAhead(const Dataset& source, int64_t depth);
  ~ReadAhead() override;
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  int64_t size() const override { return source_.size(); }
  const std::string& name(int64_t index) const override { return source_.name(index); }
  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override;
  absl::StatusOr<uint64_t> ContentHash(int64_t index) const override {
    return source_.ContentHash(index);
  }

  // How long callers of Load have waited for samples, all threads together.
  absl::Duration waited() const;

 private:
  struct Slot {
    bool ready = false;
    bool claimed = false;  // somebody waits for it: it must stay
    absl::StatusOr<std::vector<Tensor>> values = absl::UnknownError("not read yet");
  };

  void Read();
  // Moves the window of samples to read behind `index`.
  void Aim(int64_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Dataset& source_;
  const int64_t depth_;
  mutable absl::Mutex mutex_;
  mutable absl::CondVar changed_;
  mutable std::map<int64_t, Slot> slots_ ABSL_GUARDED_BY(mutex_);
  mutable int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // to read
  mutable int64_t end_ ABSL_GUARDED_BY(mutex_) = 0;   // of the window
  mutable int64_t last_ ABSL_GUARDED_BY(mutex_) = -1;
  mutable absl::Duration waited_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace qb

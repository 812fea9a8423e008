// The GPUs of this machine and which attempt has which.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace qb::worker {

// Names of the GPUs that work now; each is what CUDA_VISIBLE_DEVICES takes (an index or a UUID).
using GpuInventory = std::function<absl::StatusOr<std::vector<std::string>>()>;

// From --gpus: "auto" asks nvidia-smi (no such program: no GPUs), "none" is none, "file:PATH" is a
// file with one name a line that is read each time, and anything else is a list of names with
// commas. Errors: InvalidArgument for a name with other letters than A-Z a-z 0-9 - _ : . or one
// given twice.
absl::StatusOr<GpuInventory> MakeGpuInventory(const std::string& flag);

// UUIDs from the output of `nvidia-smi --query-gpu=uuid --format=csv,noheader`.
std::vector<std::string> ParseNvidiaSmi(absl::string_view text);

// Hands out GPUs, each to one attempt at a time. Thread-safe.
class GpuSlots {
 public:
  // What Update has found.
  struct Change {
    std::vector<std::string> gone;
    std::vector<std::string> come;
  };

  // `names` work now. One that has disappeared is not handed out any more; the attempt that has it
  // keeps it, for its compile process will find out by itself.
  Change Update(const std::vector<std::string>& names);

  // `count` free ones, in order of their names. Errors: ResourceExhausted when there are fewer.
  absl::StatusOr<std::vector<std::string>> Take(int count);
  void GiveBack(const std::vector<std::string>& names);

  // All that work, free or not.
  std::vector<std::string> Names() const;

 private:
  mutable absl::Mutex mutex_;
  std::set<std::string> working_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::worker

// Keeps some of the disk for the jobs that were accepted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace qb::server {

struct DiskSpace {
  int64_t free_bytes = 0;  // for this program
  int64_t total_bytes = 0;
};

// Of the disk of `folder`. What cannot be read counts as endless: it is not the disk's fault.
DiskSpace ReadDiskSpace(const std::string& folder);

// Thread-safe. Only Refresh looks at the disk.
class DiskGuard {
 public:
  using Reader = std::function<DiskSpace()>;

  // New work is refused while less than `low_bytes` are free. 0: a tenth of the disk, at most 5 GiB.
  DiskGuard(Reader reader, int64_t low_bytes);

  void Refresh();
  // Whether new work may come that is going to store `more_bytes`. Does not wait. Errors:
  // ResourceExhausted "DISK_LOW" with a RetryInfo.
  absl::Status CheckNewWork(int64_t more_bytes = 0) const;

 private:
  const Reader reader_;
  const int64_t low_bytes_;
  std::atomic<int64_t> free_bytes_ = 0;
  std::atomic<int64_t> kept_bytes_ = 0;
};

}  // namespace qb::server

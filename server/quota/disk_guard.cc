#include "server/quota/disk_guard.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "server/quota/refusal.h"

namespace qb::server {
namespace {

constexpr int64_t kMostKeptBytes = int64_t{5} << 30;
constexpr absl::Duration kWait = absl::Seconds(60);

}  // namespace

DiskSpace ReadDiskSpace(const std::string& folder) {
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0) {
    return {INT64_MAX, INT64_MAX};
  }
  const auto unit = static_cast<int64_t>(disk.f_frsize);
  return {static_cast<int64_t>(disk.f_bavail) * unit, static_cast<int64_t>(disk.f_blocks) * unit};
}

DiskGuard::DiskGuard(Reader reader, int64_t low_bytes)
    : reader_(std::move(reader)), low_bytes_(low_bytes) {
  Refresh();
}

void DiskGuard::Refresh() {
  const DiskSpace space = reader_();
  kept_bytes_ = low_bytes_ > 0 ? low_bytes_ : std::min(kMostKeptBytes, space.total_bytes / 10);
  free_bytes_ = space.free_bytes;
}

absl::Status DiskGuard::CheckNewWork(int64_t more_bytes) const {
  const int64_t free_bytes = free_bytes_;
  const int64_t kept_bytes = kept_bytes_;
  if (more_bytes <= free_bytes - kept_bytes) {
    return absl::OkStatus();
  }
  return WithRetryAfter(
      absl::ResourceExhaustedError(absl::StrCat(
          "DISK_LOW: the server's disk is nearly full: ", free_bytes, " bytes are free, ",
          more_bytes, " are needed and ", kept_bytes,
          " are kept for jobs that were accepted; those go on")),
      kWait);
}

}  // namespace qb::server

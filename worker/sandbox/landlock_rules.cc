#include "worker/sandbox/landlock_rules.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace qb::sandbox {
namespace {

// Debian 12's header ends at version 2; numbers of the kernel's interface never change.
constexpr uint64_t kTruncate = uint64_t{1} << 14;   // version 3
constexpr uint64_t kBindTcp = uint64_t{1} << 0;     // version 4
constexpr uint64_t kConnectTcp = uint64_t{1} << 1;  // version 4
constexpr uint64_t kExecute = LANDLOCK_ACCESS_FS_EXECUTE;
constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kChange = kWriteFile | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                             LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                             LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr uint64_t kMakeSpecial = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                  LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
// What means something for a file that is no folder.
constexpr uint64_t kOfFiles = kExecute | kReadFile | kWriteFile | kTruncate;

// landlock_ruleset_attr of version 4.
struct RulesetAttributes {
  uint64_t handled_access_fs = 0;
  uint64_t handled_access_net = 0;
};

uint64_t Handled(int version) {
  uint64_t handled = kExecute | kRead | kChange | kMakeSpecial;
  handled |= version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0;
  handled |= version >= 3 ? kTruncate : 0;
  return handled;
}

Outcome Allow(int ruleset, const std::string& path, uint64_t access) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  QB_SANDBOX_TRY(FailedIf(fd < 0, "layer landlock: " + path));
  struct stat info = {};
  if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode)) {
    access &= kOfFiles;
  }
  landlock_path_beneath_attr attributes = {};
  attributes.allowed_access = access;
  attributes.parent_fd = fd;
  const bool added =
      syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attributes, 0) == 0;
  const int error = errno;
  close(fd);
  return added ? std::nullopt : Outcome(Failure{error, "layer landlock: rule for " + path});
}

Outcome AllowAll(int ruleset, const std::vector<std::string>& paths, uint64_t access) {
  for (const std::string& path : paths) {
    QB_SANDBOX_TRY(Allow(ruleset, path, access));
  }
  return std::nullopt;
}

Outcome AddRules(int ruleset, const Policy& policy, uint64_t handled) {
  QB_SANDBOX_TRY(AllowAll(ruleset, policy.programs, kRead | kExecute));
  QB_SANDBOX_TRY(AllowAll(ruleset, policy.read_only, kRead));
  QB_SANDBOX_TRY(AllowAll(ruleset, policy.writable, handled & ~(kExecute | kMakeSpecial)));
  QB_SANDBOX_TRY(AllowAll(ruleset, policy.devices, kReadFile | kWriteFile));
  return access("/proc/self", F_OK) == 0 ? Allow(ruleset, "/proc", kRead) : std::nullopt;
}

}  // namespace

int LandlockVersion() {
  // NOLINTNEXTLINE(google-runtime-int): what syscall returns
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

Outcome RestrictFiles(const Policy& policy) {
  const int version = LandlockVersion();
  if (version == 0) {
    return Failure{ENOSYS, "layer landlock"};
  }
  RulesetAttributes attributes;
  attributes.handled_access_fs = Handled(version);
  attributes.handled_access_net = version >= 4 ? kBindTcp | kConnectTcp : 0;
  const size_t size = version >= 4 ? sizeof(attributes) : sizeof(attributes.handled_access_fs);
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  QB_SANDBOX_TRY(FailedIf(ruleset < 0, "layer landlock: rules"));
  QB_SANDBOX_TRY(AddRules(ruleset, policy, attributes.handled_access_fs));
  QB_SANDBOX_TRY(
      FailedIf(syscall(SYS_landlock_restrict_self, ruleset, 0) != 0, "layer landlock: restrict"));
  close(ruleset);
  return std::nullopt;
}

}  // namespace qb::sandbox

#include "worker/sandbox/root_file_system.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

namespace qb::sandbox {
namespace {

using MountFlags = unsigned long;  // NOLINT(google-runtime-int): those of mount(2)

constexpr MountFlags kKeep = MS_BIND | MS_REMOUNT;

// Flags of a mount that a user namespace may not take away.
MountFlags LockedFlags(const std::string& path) {
  struct statvfs info = {};
  if (statvfs(path.c_str(), &info) != 0) {
    return 0;
  }
  MountFlags flags = 0;
  flags |= (info.f_flag & ST_RDONLY) != 0 ? MS_RDONLY : 0;
  flags |= (info.f_flag & ST_NOSUID) != 0 ? MS_NOSUID : 0;
  flags |= (info.f_flag & ST_NODEV) != 0 ? MS_NODEV : 0;
  flags |= (info.f_flag & ST_NOEXEC) != 0 ? MS_NOEXEC : 0;
  flags |= (info.f_flag & ST_NOATIME) != 0 ? MS_NOATIME : 0;
  flags |= (info.f_flag & ST_NODIRATIME) != 0 ? MS_NODIRATIME : 0;
  flags |= (info.f_flag & ST_RELATIME) != 0 ? MS_RELATIME : 0;
  return flags;
}

Outcome MakeParents(const std::string& path, size_t from) {
  for (size_t slash = path.find('/', from + 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    QB_SANDBOX_TRY(FailedIf(mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST, folder));
  }
  return std::nullopt;
}

// The place of a mount: a folder or an empty file, like what will lie there.
Outcome MakePlace(const std::string& place, size_t root_size, bool folder) {
  QB_SANDBOX_TRY(MakeParents(place, root_size));
  if (folder) {
    return FailedIf(mkdir(place.c_str(), 0755) != 0 && errno != EEXIST, place);
  }
  const int fd = open(place.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  QB_SANDBOX_TRY(FailedIf(fd < 0, place));
  close(fd);
  return std::nullopt;
}

// Lets `path` appear under its own name. What is a symbolic link outside is one inside.
Outcome Bind(const std::string& root, const std::string& path, MountFlags flags) {
  const std::string place = root + path;
  struct stat info = {};
  QB_SANDBOX_TRY(FailedIf(lstat(path.c_str(), &info) != 0, path));
  if (S_ISLNK(info.st_mode)) {
    std::array<char, PATH_MAX> target = {};
    QB_SANDBOX_TRY(FailedIf(readlink(path.c_str(), target.data(), target.size() - 1) < 0, path));
    QB_SANDBOX_TRY(MakeParents(place, root.size()));
    return FailedIf(symlink(target.data(), place.c_str()) != 0 && errno != EEXIST, place);
  }
  QB_SANDBOX_TRY(MakePlace(place, root.size(), S_ISDIR(info.st_mode)));
  QB_SANDBOX_TRY(
      FailedIf(mount(path.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0, "bind " + path));
  return FailedIf(
      mount(nullptr, place.c_str(), nullptr, kKeep | LockedFlags(place) | flags, nullptr) != 0,
      "remount " + path);
}

Outcome BindAll(const std::string& root, const std::vector<std::string>& paths, MountFlags flags) {
  for (const std::string& path : paths) {
    QB_SANDBOX_TRY(Bind(root, path, flags));
  }
  return std::nullopt;
}

// Not where a container hides parts of its own /proc: a process that finds none does without. Read
// only, because /proc/sys asks for the user number and not for capabilities.
void MountProc(const std::string& root) {
  const std::string place = root + "/proc";
  if (mkdir(place.c_str(), 0555) == 0) {
    mount("proc", place.c_str(), "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  }
}

Outcome PivotTo(const std::string& root, const std::string& working_dir) {
  QB_SANDBOX_TRY(FailedIf(
      mount(nullptr, root.c_str(), nullptr, kKeep | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) != 0,
      "remount the root"));
  QB_SANDBOX_TRY(FailedIf(chdir(root.c_str()) != 0, root));
  QB_SANDBOX_TRY(FailedIf(syscall(SYS_pivot_root, ".", ".") != 0, "pivot_root"));
  // The old root lies on the new one now.
  QB_SANDBOX_TRY(FailedIf(umount2(".", MNT_DETACH) != 0, "leave the old root"));
  return FailedIf(chdir(working_dir.c_str()) != 0, working_dir);
}

}  // namespace

Outcome EnterRoot(const Policy& policy) {
  const std::string& root = policy.root;
  // What is mounted here does not come up outside.
  QB_SANDBOX_TRY(
      FailedIf(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0, "private mounts"));
  QB_SANDBOX_TRY(FailedIf(mount("tmpfs", root.c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
                                "size=1m,nr_inodes=4k,mode=755") != 0,
                          "tmpfs on " + root));
  QB_SANDBOX_TRY(BindAll(root, policy.programs, MS_RDONLY | MS_NOSUID | MS_NODEV));
  QB_SANDBOX_TRY(BindAll(root, policy.read_only, MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC));
  QB_SANDBOX_TRY(BindAll(root, policy.writable, MS_NOSUID | MS_NODEV));
  QB_SANDBOX_TRY(BindAll(root, policy.devices, MS_NOSUID | MS_NOEXEC));
  if (!policy.temporary.empty()) {
    const std::string link = root + "/tmp";
    QB_SANDBOX_TRY(
        FailedIf(symlink(policy.temporary.c_str(), link.c_str()) != 0 && errno != EEXIST, link));
  }
  MountProc(root);
  return PivotTo(root, policy.working_dir.empty() ? "/" : policy.working_dir);
}

}  // namespace qb::sandbox

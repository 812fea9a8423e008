#include "worker/sandbox/namespaces.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

namespace qb::sandbox {
namespace {

constexpr int kHighestCapability = 63;

struct Namespace {
  Layer layer;
  int flag;
};

constexpr std::array<Namespace, 5> kNamespaces = {{
    {Layer::kMount, CLONE_NEWNS},
    {Layer::kNet, CLONE_NEWNET},
    {Layer::kIpc, CLONE_NEWIPC},
    {Layer::kUts, CLONE_NEWUTS},
    {Layer::kPid, CLONE_NEWPID},
}};

Outcome WriteFile(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) {
    return Failure{errno, path};
  }
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(fd);
  return written ? std::nullopt : Outcome(Failure{error, path});
}

Outcome EnterUserNamespace() {
  const std::string user = std::to_string(geteuid());
  const std::string group = std::to_string(getegid());
  QB_SANDBOX_TRY(FailedIf(unshare(CLONE_NEWUSER) != 0, "layer user"));
  QB_SANDBOX_TRY(WriteFile("/proc/self/setgroups", "deny"));
  QB_SANDBOX_TRY(WriteFile("/proc/self/uid_map", user + " " + user + " 1"));
  return WriteFile("/proc/self/gid_map", group + " " + group + " 1");
}

}  // namespace

Outcome EnterNamespaces(const LayerSet& layers) {
  if (layers.Has(Layer::kUser)) {
    QB_SANDBOX_TRY(EnterUserNamespace());
  }
  for (const Namespace& row : kNamespaces) {
    if (layers.Has(row.layer)) {
      LayerSet one;
      one.Add(row.layer);
      QB_SANDBOX_TRY(FailedIf(unshare(row.flag) != 0, "layer " + one.Names()));
    }
  }
  if (layers.Has(Layer::kUts)) {
    constexpr std::string_view kName = "compile";
    QB_SANDBOX_TRY(FailedIf(sethostname(kName.data(), kName.size()) != 0, "layer uts"));
  }
  return std::nullopt;
}

Outcome BoundCapabilities() {
  // Without these the exec of a process with user number 0 would give everything back.
  QB_SANDBOX_TRY(
      FailedIf(prctl(PR_SET_SECUREBITS,
                     SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                         SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
                     0, 0, 0) != 0 &&
                   errno != EPERM,
               "layer capabilities: securebits"));
  for (int capability = 0; capability <= kHighestCapability; ++capability) {
    // EINVAL: the kernel knows fewer. EPERM: there is none to drop from.
    QB_SANDBOX_TRY(FailedIf(
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL && errno != EPERM,
        "layer capabilities: bounding set"));
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return std::nullopt;
}

Outcome DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none = {};
  return FailedIf(syscall(SYS_capset, &header, none.data()) != 0, "layer capabilities");
}

}  // namespace qb::sandbox

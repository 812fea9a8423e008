#include "worker/sandbox/probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "worker/sandbox/landlock_rules.h"
#include "worker/sandbox/namespaces.h"
#include "worker/sandbox/policy.h"
#include "worker/sandbox/process_tree.h"
#include "worker/sandbox/root_file_system.h"

namespace qb::sandbox {
namespace {

// What a check finds: "" when the layer does what it should.
using Finding = std::string;

constexpr char kNoEffect[] = "it was set and forbids nothing";

Finding Describe(const Outcome& outcome) {
  return outcome.has_value() ? outcome->step + ": " + strerror(outcome->error) : "";
}

std::string NamespaceLink(const char* kind) {
  std::array<char, PATH_MAX> target = {};
  const std::string path = std::string("/proc/self/ns/") + kind;
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<size_t>(size)) : "";
}

// Enters the layer's namespace, within a user namespace or, where there is none to be had, with the
// privileges that the caller has.
Finding Enter(Layer layer) {
  LayerSet layers;
  layers.Add(layer);
  layers.Add(Layer::kUser);
  if (!EnterNamespaces(layers).has_value()) {
    return "";
  }
  layers.Remove(Layer::kUser);
  return Describe(EnterNamespaces(layers));
}

Finding CheckNamespace(Layer layer, const char* kind) {
  const std::string before = NamespaceLink(kind);
  if (Finding failed = Enter(layer); !failed.empty()) {
    return failed;
  }
  return before.empty() || NamespaceLink(kind) == before ? kNoEffect : "";
}

// How a child of this process ends that runs `body`.
template <typename Body>
int StatusOfChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Finding CheckUser() {
  const std::string before = NamespaceLink("user");
  LayerSet layers;
  layers.Add(Layer::kUser);
  if (Finding failed = Describe(EnterNamespaces(layers)); !failed.empty()) {
    return failed;
  }
  return before.empty() || NamespaceLink("user") == before ? kNoEffect : "";
}

Finding CheckPid() {
  if (Finding failed = Enter(Layer::kPid); !failed.empty()) {
    return failed;
  }
  const int status = StatusOfChild([] { _exit(getpid() == 1 ? 0 : 1); });
  return status == 0 ? "" : kNoEffect;
}

Finding CheckMount() {
  if (Finding failed = Enter(Layer::kMount); !failed.empty()) {
    return failed;
  }
  Policy policy;
  policy.root = "/tmp";  // the new root lies over it, in this namespace alone
  if (Finding failed = Describe(EnterRoot(policy)); !failed.empty()) {
    return failed;
  }
  return access("/etc", F_OK) == 0 ? kNoEffect : "";
}

Finding CheckCapabilities() {
  LayerSet layers;
  layers.Add(Layer::kUser);
  // With a user namespace there are capabilities to lose even for a user who has none.
  static_cast<void>(EnterNamespaces(layers));
  if (Finding failed = Describe(BoundCapabilities()); !failed.empty()) {
    return failed;
  }
  if (Finding failed = Describe(DropCapabilities()); !failed.empty()) {
    return failed;
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> held = {};
  const bool none =
      syscall(SYS_capget, &header, held.data()) == 0 &&
      (held[0].effective | held[0].permitted | held[1].effective | held[1].permitted) == 0;
  return none && chroot("/") != 0 ? "" : kNoEffect;
}

Finding CheckRights(Layer layer) {
  Policy policy;
  policy.layers.Add(Layer::kNoNewPrivs);
  policy.layers.Add(layer);
  policy.max_open_files = 16;
  return Describe(GiveUpRights(policy));
}

Finding CheckNoNewPrivs() {
  if (Finding failed = CheckRights(Layer::kNoNewPrivs); !failed.empty()) {
    return failed;
  }
  return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? "" : kNoEffect;
}

Finding CheckLandlock() {
  if (Finding failed = CheckRights(Layer::kLandlock); !failed.empty()) {
    return failed;
  }
  return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0 && errno == EACCES ? "" : kNoEffect;
}

Finding CheckSeccomp() {
  if (Finding failed = CheckRights(Layer::kSeccomp); !failed.empty()) {
    return failed;
  }
  const int status = StatusOfChild([] { ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); });
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? "" : kNoEffect;
}

Finding CheckRlimits() {
  if (Finding failed = CheckRights(Layer::kRlimits); !failed.empty()) {
    return failed;
  }
  for (int i = 0; i < 20; ++i) {
    if (dup(STDERR_FILENO) < 0) {
      return errno == EMFILE ? "" : strerror(errno);
    }
  }
  return kNoEffect;
}

Finding Check(Layer layer) {
  switch (layer) {
    case Layer::kUser:
      return CheckUser();
    case Layer::kPid:
      return CheckPid();
    case Layer::kMount:
      return CheckMount();
    case Layer::kNet:
      return CheckNamespace(layer, "net");
    case Layer::kIpc:
      return CheckNamespace(layer, "ipc");
    case Layer::kUts:
      return CheckNamespace(layer, "uts");
    case Layer::kCapabilities:
      return CheckCapabilities();
    case Layer::kNoNewPrivs:
      return CheckNoNewPrivs();
    case Layer::kLandlock:
      return CheckLandlock();
    case Layer::kSeccomp:
      return CheckSeccomp();
    case Layer::kRlimits:
      return CheckRlimits();
  }
  return "not known";
}

// Runs the check in a child, which the layer changes for ever.
Finding CheckInChild(Layer layer) {
  std::array<int, 2> answer = {-1, -1};
  if (pipe2(answer.data(), O_CLOEXEC) != 0) {
    return strerror(errno);
  }
  const int status = StatusOfChild([&] {
    const Finding finding = Check(layer);
    [[maybe_unused]] const ssize_t written = write(answer[1], finding.data(), finding.size());
  });
  close(answer[1]);
  std::array<char, 512> text = {};
  const ssize_t size = read(answer[0], text.data(), text.size());
  close(answer[0]);
  if (status != 0) {
    return "the check was ended by signal " + std::to_string(WTERMSIG(status));
  }
  return std::string(text.data(), size > 0 ? static_cast<size_t>(size) : 0);
}

}  // namespace

std::vector<Probe> ProbeLayers() {
  std::vector<Probe> probes;
  for (const LayerRow& row : kLayers) {
    std::string why_not = CheckInChild(row.layer);
    const bool active = why_not.empty();
    probes.push_back({row.layer, active, std::move(why_not)});
  }
  return probes;
}

bool PrintProbes(FILE* out) {
  bool all = true;
  const std::vector<Probe> probes = ProbeLayers();
  for (size_t i = 0; i < probes.size(); ++i) {
    all = all && probes[i].active;
    fprintf(out, "%s\t%s\t%s\n", std::string(kLayers[i].name).c_str(),
            probes[i].active ? "active" : "unavailable", probes[i].why_not.c_str());
  }
  return all;
}

}  // namespace qb::sandbox

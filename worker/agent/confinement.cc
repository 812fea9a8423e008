#include "worker/agent/confinement.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/atomic_file.h"
#include "core/base/status_macros.h"
#include "worker/agent/child_runner.h"
#include "worker/agent/stop_signal.h"
#include "worker/sandbox/policy.h"

namespace qb::worker {
namespace {

// Thread pools and allocators reserve far more addresses than they use.
constexpr int64_t kAddressSlackBytes = int64_t{4} << 30;

class Collector final : public ChildOutput {
 public:
  void OnStdout(absl::string_view bytes) override { text.append(bytes.data(), bytes.size()); }
  void OnStderr(absl::string_view bytes) override { text.append(bytes.data(), bytes.size()); }
  std::string text;
};

absl::Status ReadProbes(const std::string& text, Confinement& confinement) {
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, '\t');
    sandbox::LayerSet layer;
    if (parts.size() != 3 || !sandbox::LayerSet::Parse(std::string(parts[0]), layer)) {
      return absl::InternalError(absl::StrCat("the sandbox program said '", line, "'"));
    }
    for (const sandbox::LayerRow& row : sandbox::kLayers) {
      if (!layer.Has(row.layer)) {
        continue;
      }
      if (parts[1] == "active") {
        confinement.layers.Add(row.layer);
      } else {
        absl::StrAppend(&confinement.missing, confinement.missing.empty() ? "" : "; ", parts[0],
                        ": ", parts[2]);
      }
    }
  }
  return confinement.layers.empty() && confinement.missing.empty()
             ? absl::InternalError("the sandbox program said nothing")
             : absl::OkStatus();
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

void AddExisting(std::initializer_list<const char*> paths, std::vector<std::string>& list) {
  for (const char* path : paths) {
    if (Exists(path)) {
      list.emplace_back(path);
    }
  }
}

// The nodes of the GPU drivers; the sandbox shows them only to attempts that were given a GPU.
void AddGpuDevices(std::vector<std::string>& devices) {
  DIR* listing = ::opendir("/dev");
  if (listing == nullptr) {
    return;
  }
  while (const dirent* entry = ::readdir(listing)) {
    if (absl::StartsWith(entry->d_name, "nvidia") && entry->d_type == DT_CHR) {
      devices.push_back(absl::StrCat("/dev/", entry->d_name));
    }
  }
  ::closedir(listing);
  std::sort(devices.begin(), devices.end());
}

sandbox::Policy MakePolicy(const Confinement& confinement, const ConfinementLimits& limits,
                           const ResourceGroup* group, bool gpus, const ChildOptions& plain) {
  sandbox::Policy policy;
  policy.layers = confinement.layers;
  const std::string& folder = plain.working_dir;
  policy.root = folder + "/root";
  AddExisting({"/usr", "/lib", "/lib64", "/lib32", "/bin"}, policy.programs);
  const std::string program_folder = plain.argv[0].substr(0, plain.argv[0].rfind('/'));
  if (!program_folder.empty() && !absl::StartsWith(program_folder, "/usr/")) {
    policy.programs.push_back(program_folder);
  }
  AddExisting({"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/localtime", "/etc/alternatives"},
              policy.read_only);
  policy.read_only.push_back(folder);
  policy.writable = {folder + "/out", folder + "/tmp"};
  AddExisting({"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"}, policy.devices);
  if (gpus) {
    AddGpuDevices(policy.devices);
  }
  policy.working_dir = folder;
  policy.temporary = folder + "/tmp";
  policy.max_processes = static_cast<uint64_t>(limits.processes);
  policy.max_file_bytes = static_cast<uint64_t>(limits.scratch_bytes);
  if (limits.cpu_time != absl::InfiniteDuration()) {
    policy.max_cpu_seconds =
        static_cast<uint64_t>(std::max<int64_t>(1, absl::ToInt64Seconds(limits.cpu_time)));
  }
  if (group != nullptr) {
    policy.groups = group->JoinFiles();
  } else if (limits.memory_bytes > 0) {
    policy.max_address_bytes = static_cast<uint64_t>(limits.memory_bytes + kAddressSlackBytes);
  }
  return policy;
}

}  // namespace

std::string Confinement::ToString() const {
  return absl::StrCat("sandbox: ", helper.empty() ? "off" : layers.Names(),
                      missing.empty() ? "" : absl::StrCat(" (missing: ", missing, ")"),
                      "; limits: ", groups.ToString());
}

absl::StatusOr<Confinement> ProbeConfinement(const std::string& helper) {
  if (!Exists(helper)) {
    return absl::NotFoundError(absl::StrCat("the sandbox program '", helper, "' is not there"));
  }
  Confinement confinement;
  confinement.helper = helper;
  ChildOptions options;
  options.argv = {helper, "probe"};
  options.working_dir = "/";
  RunLimits limits;
  limits.run_timeout = absl::Seconds(20);
  limits.kill_grace = absl::Seconds(1);
  Collector output;
  StopSignal stop;
  QB_RETURN_IF_ERROR(ProcessRunner().Run(options, limits, output, stop).status());
  QB_RETURN_IF_ERROR(ReadProbes(output.text, confinement));
  const absl::StatusOr<std::string> own = ReadFile("/proc/self/cgroup");
  confinement.groups = FindGroupParent("/sys/fs/cgroup", own.ok() ? *own : "");
  return confinement;
}

ChildOptions Confine(const Confinement& confinement, const ConfinementLimits& limits,
                     const ResourceGroup* group, bool gpus, ChildOptions plain) {
  if (confinement.helper.empty()) {
    return plain;
  }
  ChildOptions confined = plain;
  confined.argv = {confinement.helper, "run"};
  for (std::string& word :
       sandbox::ToArguments(MakePolicy(confinement, limits, group, gpus, plain))) {
    confined.argv.push_back(std::move(word));
  }
  confined.argv.insert(confined.argv.end(), plain.argv.begin(), plain.argv.end());
  confined.starts_another = true;
  return confined;
}

}  // namespace qb::worker

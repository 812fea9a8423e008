#include "worker/agent/resource_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/digest.h"
#include "core/base/status_macros.h"

namespace qb::worker {
namespace {

std::string ReadText(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return "";
  }
  std::string text(size_t{64} * 1024, '\0');
  const ssize_t size = ::read(fd, text.data(), text.size());
  ::close(fd);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

absl::Status WriteText(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (fd >= 0) {
    ::close(fd);
  }
  return written ? absl::OkStatus()
                 : absl::FailedPreconditionError(absl::StrCat(
                       "control group: '", path, "' := ", text, ": ", std::strerror(error)));
}

int64_t ReadNumber(const std::string& path) {
  int64_t number = 0;
  const std::string text = ReadText(path);
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &number) ? number : 0;
}

// The value of "key value" in a file of such lines.
int64_t ReadKey(const std::string& path, absl::string_view key) {
  const std::string text = ReadText(path);
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    int64_t value = 0;
    if (parts.first == key && absl::SimpleAtoi(parts.second, &value)) {
      return value;
    }
  }
  return 0;
}

// True when a group can be made in `folder`.
bool MayMakeGroups(const std::string& folder) {
  const std::string trial = absl::StrCat(folder, "/qbc-trial-", ::getpid());
  if (::mkdir(trial.c_str(), 0755) != 0) {
    return false;
  }
  ::rmdir(trial.c_str());
  return true;
}

// The path of a controller's hierarchy in the text of /proc/self/cgroup: "4:memory:/a/b" -> "/a/b".
std::string OwnGroup(absl::string_view own, absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(own, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) {
      continue;
    }
    for (absl::string_view name : absl::StrSplit(parts[1], ',')) {
      if (name == controller) {
        return parts[2] == "/" ? "" : std::string(parts[2]);
      }
    }
  }
  return "";
}

std::string WritableTree(const std::string& root, absl::string_view own,
                         absl::string_view controller) {
  const std::string folder = absl::StrCat(root, "/", controller, OwnGroup(own, controller));
  return MayMakeGroups(folder) ? folder : "";
}

std::vector<pid_t> Members(const std::string& folder) {
  std::vector<pid_t> pids;
  const std::string text = ReadText(folder + "/cgroup.procs");
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(line, &pid) && pid > 0) {
      pids.push_back(pid);
    }
  }
  return pids;
}

void EmptyAndRemove(const std::string& folder) {
  if (folder.empty()) {
    return;
  }
  for (int round = 0; round < 500; ++round) {
    for (const pid_t pid : Members(folder)) {
      ::kill(pid, SIGKILL);
    }
    if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) {
      return;
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
}

}  // namespace

std::string GroupParent::ToString() const {
  if (kind == Kind::kNone) {
    return absl::StrCat("none: ", why_none);
  }
  if (kind == Kind::kV2) {
    return "cgroup v2";
  }
  std::vector<std::string> names;
  for (const auto& [name, folder] : {std::pair<const char*, const std::string*>{"memory", &memory},
                                     {"pids", &pids},
                                     {"cpuacct", &cpuacct}}) {
    if (!folder->empty()) {
      names.emplace_back(name);
    }
  }
  return absl::StrCat("cgroup v1 (", absl::StrJoin(names, ", "), ")");
}

GroupParent FindGroupParent(const std::string& root, const std::string& own) {
  GroupParent parent;
  const std::string v2 = absl::StrCat(root, OwnGroup(own, ""));
  const std::string controllers = ReadText(v2 + "/cgroup.subtree_control");
  if (absl::StrContains(controllers, "memory") && absl::StrContains(controllers, "pids")) {
    if (MayMakeGroups(v2)) {
      parent.kind = GroupParent::Kind::kV2;
      parent.memory = v2;
      return parent;
    }
    parent.why_none = absl::StrCat("no group may be made in ", v2);
    return parent;
  }
  parent.memory = WritableTree(root, own, "memory");
  parent.pids = WritableTree(root, own, "pids");
  parent.cpuacct = WritableTree(root, own, "cpuacct");
  if (!parent.memory.empty()) {
    parent.kind = GroupParent::Kind::kV1;
  } else {
    parent.why_none = absl::StrCat("no memory controller to write to in ", root);
  }
  return parent;
}

std::string GroupPrefix(const std::string& work_dir) {
  return absl::StrCat("qbc-", Sha256Hex(work_dir).substr(0, 8), "-");
}

ResourceGroup::ResourceGroup(const GroupParent& parent, const std::string& name)
    : kind_(parent.kind) {
  const auto in = [&](const std::string& folder) {
    return folder.empty() ? "" : absl::StrCat(folder, "/", name);
  };
  memory_ = in(parent.memory);
  pids_ = in(parent.pids);
  cpuacct_ = in(parent.cpuacct);
}

absl::StatusOr<std::unique_ptr<ResourceGroup>> ResourceGroup::Create(const GroupParent& parent,
                                                                     const std::string& name,
                                                                     const GroupLimits& limits) {
  if (parent.kind == GroupParent::Kind::kNone) {
    return absl::FailedPreconditionError(absl::StrCat("control group: ", parent.why_none));
  }
  std::unique_ptr<ResourceGroup> group(new ResourceGroup(parent, name));
  for (const std::string& folder : {group->memory_, group->pids_, group->cpuacct_}) {
    if (!folder.empty() && ::mkdir(folder.c_str(), 0755) != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("control group: '", folder, "': ", std::strerror(errno)));
    }
  }
  QB_RETURN_IF_ERROR(group->Limit(limits));
  return group;
}

absl::Status ResourceGroup::Limit(const GroupLimits& limits) const {
  if (kind_ == GroupParent::Kind::kV2) {
    if (limits.memory_bytes > 0) {
      QB_RETURN_IF_ERROR(WriteText(memory_ + "/memory.max", absl::StrCat(limits.memory_bytes)));
      QB_RETURN_IF_ERROR(WriteText(memory_ + "/memory.oom.group", "1"));
      // Not everywhere: a kernel without swap has no such file.
      WriteText(memory_ + "/memory.swap.max", "0").IgnoreError();
    }
    return limits.processes > 0 ? WriteText(memory_ + "/pids.max", absl::StrCat(limits.processes))
                                : absl::OkStatus();
  }
  if (limits.memory_bytes > 0) {
    QB_RETURN_IF_ERROR(
        WriteText(memory_ + "/memory.limit_in_bytes", absl::StrCat(limits.memory_bytes)));
    WriteText(memory_ + "/memory.memsw.limit_in_bytes", absl::StrCat(limits.memory_bytes))
        .IgnoreError();
  }
  return limits.processes > 0 && !pids_.empty()
             ? WriteText(pids_ + "/pids.max", absl::StrCat(limits.processes))
             : absl::OkStatus();
}

ResourceGroup::~ResourceGroup() {
  for (const std::string& folder : {memory_, pids_, cpuacct_}) {
    EmptyAndRemove(folder);
  }
}

std::vector<std::string> ResourceGroup::JoinFiles() const {
  std::vector<std::string> files;
  for (const std::string& folder : {memory_, pids_, cpuacct_}) {
    if (!folder.empty()) {
      files.push_back(folder + "/cgroup.procs");
    }
  }
  return files;
}

GroupUsage ResourceGroup::Read() const {
  GroupUsage usage;
  if (kind_ == GroupParent::Kind::kV2) {
    usage.peak_memory_bytes = ReadNumber(memory_ + "/memory.peak");
    usage.cpu_us = ReadKey(memory_ + "/cpu.stat", "usage_usec");
    usage.memory_kills = ReadKey(memory_ + "/memory.events", "oom_kill");
    return usage;
  }
  usage.peak_memory_bytes = ReadNumber(memory_ + "/memory.max_usage_in_bytes");
  usage.memory_kills = ReadKey(memory_ + "/memory.oom_control", "oom_kill");
  if (!cpuacct_.empty()) {
    usage.cpu_us = ReadNumber(cpuacct_ + "/cpuacct.usage") / 1000;  // nanoseconds
  }
  return usage;
}

void ResourceGroup::Kill() const {
  if (kind_ == GroupParent::Kind::kV2 && WriteText(memory_ + "/cgroup.kill", "1").ok()) {
    return;
  }
  for (int round = 0; round < 500; ++round) {
    const std::vector<pid_t> pids = Members(memory_);
    if (pids.empty()) {
      return;
    }
    for (const pid_t pid : pids) {
      ::kill(pid, SIGKILL);
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
}

void RemoveStaleGroups(const GroupParent& parent, const std::string& prefix) {
  for (const std::string& folder : {parent.memory, parent.pids, parent.cpuacct}) {
    DIR* listing = folder.empty() ? nullptr : ::opendir(folder.c_str());
    if (listing == nullptr) {
      continue;
    }
    std::set<std::string> stale;
    while (const dirent* entry = ::readdir(listing)) {
      if (absl::StartsWith(entry->d_name, prefix)) {
        stale.insert(absl::StrCat(folder, "/", entry->d_name));
      }
    }
    ::closedir(listing);
    for (const std::string& group : stale) {
      EmptyAndRemove(group);
    }
  }
}

}  // namespace qb::worker

// What all processes of an attempt may use together, counted by the kernel in a control group.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace qb::worker {

struct GroupLimits {
  int64_t memory_bytes = 0;  // 0: none; swap counts too, where it can be told
  int64_t processes = 0;     // 0: none
};

struct GroupUsage {
  int64_t peak_memory_bytes = 0;  // 0: not told
  int64_t cpu_us = 0;             // of all processes, also those that have ended; 0: not told
  // Processes that the kernel ended because the group had no memory left.
  int64_t memory_kills = 0;
};

// Where groups can be made.
struct GroupParent {
  enum class Kind { kNone, kV1, kV2 };
  Kind kind = Kind::kNone;
  // Of version 1, each "" when it cannot be written: memory, pids and cpuacct have a tree each.
  // Version 2 has one, in `memory`.
  std::string memory;
  std::string pids;
  std::string cpuacct;
  std::string why_none;  // for people

  // "cgroup v1 (memory, pids, cpuacct)", "cgroup v2", "none: ...".
  std::string ToString() const;
};

// The group of this process, if it may make groups in it. `root` is "/sys/fs/cgroup" and `own` what
// /proc/self/cgroup says, but in tests. Leaves nothing behind.
GroupParent FindGroupParent(const std::string& root, const std::string& own);

// How the groups of the agent with this work folder are named, before a number.
std::string GroupPrefix(const std::string& work_dir);

// One group. Thread-compatible. The destructor ends what is in it and removes it.
class ResourceGroup {
 public:
  // Errors: FailedPrecondition with the file and errno text when a limit cannot be set.
  static absl::StatusOr<std::unique_ptr<ResourceGroup>> Create(const GroupParent& parent,
                                                               const std::string& name,
                                                               const GroupLimits& limits);
  ~ResourceGroup();
  ResourceGroup(const ResourceGroup&) = delete;
  ResourceGroup& operator=(const ResourceGroup&) = delete;

  // A process joins by writing "0" into each of these.
  std::vector<std::string> JoinFiles() const;
  GroupUsage Read() const;
  // SIGKILL to every process in it, until there is none (at most 5 s).
  void Kill() const;

 private:
  ResourceGroup(const GroupParent& parent, const std::string& name);
  absl::Status Limit(const GroupLimits& limits) const;

  GroupParent::Kind kind_;
  std::string memory_;
  std::string pids_;
  std::string cpuacct_;
};

// Removes groups of this name pattern that an agent before has left in `parent`, with what is in
// them.
void RemoveStaleGroups(const GroupParent& parent, const std::string& prefix);

}  // namespace qb::worker

// Control groups: against folders that look like those of the kernel, and, where this process may
// make groups, against the kernel.
#include "worker/agent/resource_group.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb::worker {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

// What a kernel would show: files are made before they are written or read.
class FakeGroups : public ::testing::Test {
 protected:
  void Put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(root_.File(name), text).ok());
  }
  std::string Get(const std::string& name) { return *ReadFile(root_.File(name)); }
  GroupParent V1() {
    GroupParent parent;
    parent.kind = GroupParent::Kind::kV1;
    parent.memory = root_.File("memory");
    parent.pids = root_.File("pids");
    return parent;
  }
  GroupParent V2() {
    GroupParent parent;
    parent.kind = GroupParent::Kind::kV2;
    parent.memory = root_.path();
    return parent;
  }
  qb::testing::TempDir root_;
};

TEST_F(FakeGroups, FindsVersion2WhereItsControllersAreGivenOn) {
  Put("a/b/cgroup.subtree_control", "cpu memory pids\n");
  const GroupParent parent = FindGroupParent(root_.path(), "0::/a/b\n");
  EXPECT_EQ(parent.kind, GroupParent::Kind::kV2);
  EXPECT_EQ(parent.memory, root_.File("a/b"));
  Put("a/b/cgroup.subtree_control", "cpu\n");
  EXPECT_EQ(FindGroupParent(root_.path(), "0::/a/b\n").kind, GroupParent::Kind::kNone);
}

TEST_F(FakeGroups, FindsTheTreesOfVersion1) {
  Put("memory/x/tasks", "");
  Put("pids/tasks", "");
  const GroupParent parent =
      FindGroupParent(root_.path(), "8:pids:/\n4:memory,other:/x\n2:cpuacct:/none\n");
  EXPECT_EQ(parent.kind, GroupParent::Kind::kV1);
  EXPECT_EQ(parent.memory, root_.File("memory/x"));
  EXPECT_EQ(parent.pids, root_.File("pids"));
  EXPECT_EQ(parent.cpuacct, "");
  EXPECT_EQ(parent.ToString(), "cgroup v1 (memory, pids)");
}

TEST_F(FakeGroups, SaysWhyThereAreNone) {
  const GroupParent parent = FindGroupParent(root_.File("nothing"), "");
  EXPECT_EQ(parent.kind, GroupParent::Kind::kNone);
  EXPECT_THAT(parent.ToString(), HasSubstr("no memory controller"));
  EXPECT_THAT(ResourceGroup::Create(parent, "x", {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no memory controller")));
}

TEST_F(FakeGroups, ALimitThatCannotBeSetIsAnError) {
  // A plain folder has no memory.limit_in_bytes.
  Put("memory/keep", "");
  Put("pids/keep", "");
  EXPECT_THAT(ResourceGroup::Create(V1(), "g", {.memory_bytes = 1 << 20, .processes = 0}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("memory.limit_in_bytes")));
}

TEST_F(FakeGroups, ReadsTheEventsOfBothVersions) {
  Put("memory/keep", "");
  Put("pids/keep", "");
  {
    QB_ASSERT_OK_AND_ASSIGN(const auto group, ResourceGroup::Create(V1(), "g", {}));
    EXPECT_EQ(group->JoinFiles().size(), 2u);
    Put("memory/g/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    Put("memory/g/memory.max_usage_in_bytes", "4096\n");
    EXPECT_EQ(group->Read().memory_kills, 3);
    EXPECT_EQ(group->Read().peak_memory_bytes, 4096);
    unlink(root_.File("memory/g/memory.oom_control").c_str());
    unlink(root_.File("memory/g/memory.max_usage_in_bytes").c_str());
  }
  EXPECT_NE(access(root_.File("memory/g").c_str(), F_OK), 0) << "the group was left behind";
  QB_ASSERT_OK_AND_ASSIGN(const auto group, ResourceGroup::Create(V2(), "h", {}));
  Put("h/memory.events", "low 0\noom 1\noom_kill 2\n");
  Put("h/memory.peak", "8192\n");
  Put("h/cpu.stat", "usage_usec 1500\nuser_usec 1\n");
  EXPECT_EQ(group->Read().memory_kills, 2);
  EXPECT_EQ(group->Read().peak_memory_bytes, 8192);
  EXPECT_EQ(group->Read().cpu_us, 1500);
  for (const char* name : {"h/memory.events", "h/memory.peak", "h/cpu.stat"}) {
    unlink(root_.File(name).c_str());
  }
}

// The kernel's own.
class RealGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto own = ReadFile("/proc/self/cgroup");
    parent_ = FindGroupParent("/sys/fs/cgroup", own.ok() ? *own : "");
    if (parent_.kind == GroupParent::Kind::kNone) {
      GTEST_SKIP() << parent_.why_none;
    }
  }

  // A child that joins `group` and then does `deed`; its wait status.
  template <typename Deed>
  int RunInside(const ResourceGroup& group, Deed deed) {
    const pid_t child = fork();
    if (child == 0) {
      for (const std::string& file : group.JoinFiles()) {
        std::ofstream(file) << "0";
      }
      deed();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  GroupParent parent_;
  const std::string name_ = absl::StrCat("qbc-test-", getpid());
};

TEST_F(RealGroups, MemoryBeyondTheLimitIsAnEventOfTheGroup) {
  QB_ASSERT_OK_AND_ASSIGN(
      const auto group,
      ResourceGroup::Create(parent_, name_, {.memory_bytes = 64 << 20, .processes = 0}));
  const auto eat = [](size_t bytes) {
    return [bytes] {
      void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      std::memset(block, 1, bytes);
    };
  };
  EXPECT_EQ(RunInside(*group, eat(16 << 20)), 0);
  EXPECT_EQ(group->Read().memory_kills, 0);
  const int status = RunInside(*group, eat(256 << 20));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_GE(group->Read().memory_kills, 1);
  EXPECT_GE(group->Read().peak_memory_bytes, 16 << 20);
}

TEST_F(RealGroups, ProcessesAreCountedAndAllAreEnded) {
  if (parent_.kind == GroupParent::Kind::kV1 && parent_.pids.empty()) {
    GTEST_SKIP() << "no pids controller";
  }
  QB_ASSERT_OK_AND_ASSIGN(
      const auto group, ResourceGroup::Create(parent_, name_, {.memory_bytes = 0, .processes = 8}));
  const int status = RunInside(*group, [] {
    int made = 0;
    for (; made < 50; ++made) {
      const pid_t child = fork();
      if (child < 0) {
        break;
      }
      if (child == 0) {
        setsid();
        while (true) {
          pause();
        }
      }
    }
    _exit(made);
  });
  EXPECT_EQ(WEXITSTATUS(status), 7);
  group->Kill();
  EXPECT_EQ(*ReadFile(group->JoinFiles()[0]), "");
}

TEST_F(RealGroups, WhatAnAgentBeforeHasLeftIsRemoved) {
  QB_ASSERT_OK_AND_ASSIGN(auto group, ResourceGroup::Create(parent_, name_, {}));
  const std::string folder = group->JoinFiles()[0].substr(0, group->JoinFiles()[0].rfind('/'));
  EXPECT_EQ(access(folder.c_str(), F_OK), 0);
  RemoveStaleGroups(parent_, name_);
  EXPECT_NE(access(folder.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace qb::worker

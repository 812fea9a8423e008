// Each layer by itself: with all layers a hostile program is refused, and with all but that one it
// is not. So each test fails when only its layer is switched off, or does nothing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/testing/temp_dir.h"
#include "worker/sandbox/policy.h"
#include "worker/sandbox/probe.h"

namespace qb::sandbox {
namespace {

constexpr int kWorked = 0;
constexpr int kRefused = 1;

// Whether the layer can be had here; a machine that lacks it cannot show what it does.
bool Available(Layer layer) {
  static const auto& probes = *new std::vector<Probe>(ProbeLayers());
  for (const Probe& probe : probes) {
    if (probe.layer == layer) {
      return probe.active;
    }
  }
  return false;
}

LayerSet AllAvailable() {
  LayerSet layers;
  for (const LayerRow& row : kLayers) {
    if (Available(row.layer)) {
      layers.Add(row.layer);
    }
  }
  return layers;
}

std::string BinFolder() {
  const char* folder = std::getenv("QB_BIN_DIR");
  return folder != nullptr ? folder : "build/release/bin";
}

class Sandbox : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"root", "out", "in"}) {
      ASSERT_EQ(mkdir(folder_.File(name).c_str(), 0755), 0);
    }
    std::array<char, 4096> absolute = {};
    ASSERT_NE(realpath(BinFolder().c_str(), absolute.data()), nullptr);
    bin_ = absolute.data();
    policy_.layers = AllAvailable();
    policy_.root = folder_.File("root");
    policy_.programs = {"/usr", "/lib", "/lib64", bin_};
    policy_.read_only = {folder_.File("in")};
    policy_.writable = {folder_.File("out")};
    policy_.devices = {"/dev/null", "/dev/urandom"};
    policy_.working_dir = folder_.File("out");
  }

  // How a hostile program ends: its exit code, or minus the number of its signal.
  int Run(const std::string& deed, const std::string& argument = "") {
    std::vector<std::string> words = {bin_ + "/qbc-sandbox", "run"};
    const std::vector<std::string> policy = ToArguments(policy_);
    words.insert(words.end(), policy.begin(), policy.end());
    words.insert(words.end(), {bin_ + "/hostile_child", deed, argument});
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    std::array<int, 2> report = {-1, -1};
    EXPECT_EQ(pipe2(report.data(), O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      dup2(report[1], 3);  // without O_CLOEXEC
      execv(argv[0], argv.data());
      _exit(126);
    }
    close(report[1]);
    std::array<char, 512> text = {};
    const ssize_t size = read(report[0], text.data(), text.size() - 1);
    close(report[0]);
    EXPECT_EQ(size, 0) << "not started: errno " << *reinterpret_cast<int*>(text.data()) << " at "
                       << text.data() + sizeof(int);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  // The deed is refused, and works once `layer` alone is off.
  void ExpectOnlyThisLayerForbids(Layer layer, const std::string& deed, const std::string& argument,
                                  int refused = kRefused) {
    if (!Available(layer)) {
      GTEST_SKIP() << "this machine lacks the layer";
    }
    EXPECT_EQ(Run(deed, argument), refused) << "with all layers";
    policy_.layers.Remove(layer);
    EXPECT_EQ(Run(deed, argument), kWorked) << "without the layer";
  }

  static std::string Namespace(const std::string& kind) {
    std::array<char, 256> link = {};
    const ssize_t size = readlink(("/proc/self/ns/" + kind).c_str(), link.data(), link.size());
    return kind + "=" + std::string(link.data(), size > 0 ? static_cast<size_t>(size) : 0);
  }

  qb::testing::TempDir folder_;
  std::string bin_;
  Policy policy_;
};

TEST_F(Sandbox, UserNamespace) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "without it the other layers need root";
  }
  ExpectOnlyThisLayerForbids(Layer::kUser, "in_namespace", Namespace("user"));
}

TEST_F(Sandbox, ProcessNamespaceHidesOtherProcesses) {
  ExpectOnlyThisLayerForbids(Layer::kPid, "signal", std::to_string(getpid()));
}

TEST_F(Sandbox, MountNamespaceHidesOtherFiles) {
  const std::string canary = folder_.File("canary");
  close(open(canary.c_str(), O_WRONLY | O_CREAT, 0644));
  ExpectOnlyThisLayerForbids(Layer::kMount, "see", canary);
}

TEST_F(Sandbox, NetworkNamespace) {
  ExpectOnlyThisLayerForbids(Layer::kNet, "in_namespace", Namespace("net"));
}

TEST_F(Sandbox, IpcNamespace) {
  ExpectOnlyThisLayerForbids(Layer::kIpc, "in_namespace", Namespace("ipc"));
}

TEST_F(Sandbox, HostName) {
  std::array<char, 256> name = {};
  ASSERT_EQ(gethostname(name.data(), name.size() - 1), 0);
  ExpectOnlyThisLayerForbids(Layer::kUts, "host_name", name.data());
}

TEST_F(Sandbox, Capabilities) {
  ExpectOnlyThisLayerForbids(Layer::kCapabilities, "may_regain_capabilities", "");
}

TEST_F(Sandbox, NoNewPrivileges) {
  ExpectOnlyThisLayerForbids(Layer::kNoNewPrivs, "may_gain_privileges", "");
}

TEST_F(Sandbox, LandlockForbidsToRunWhatWasWritten) {
  ExpectOnlyThisLayerForbids(Layer::kLandlock, "run_written", folder_.File("out/program"));
}

TEST_F(Sandbox, SystemCallFilter) {
  ExpectOnlyThisLayerForbids(Layer::kSeccomp, "be_traced", "", -SIGSYS);
}

TEST_F(Sandbox, ResourceLimits) { ExpectOnlyThisLayerForbids(Layer::kRlimits, "many_files", ""); }

TEST_F(Sandbox, FileSizeLimit) {
  policy_.max_file_bytes = 1 << 20;
  EXPECT_EQ(Run("write_much", folder_.File("out/much")), -SIGXFSZ);
  policy_.max_file_bytes = 0;
  EXPECT_EQ(Run("write_much", folder_.File("out/much")), kWorked);
}

TEST_F(Sandbox, CpuLimit) {
  policy_.max_cpu_seconds = 1;
  EXPECT_EQ(Run("burn_cpu", "4"), -SIGXCPU);
}

TEST_F(Sandbox, AddressSpaceLimit) {
  policy_.max_address_bytes = 256 << 20;
  EXPECT_EQ(Run("eat_memory", "512"), kRefused);
  EXPECT_EQ(Run("eat_memory", "16"), kWorked);
}

// Paths, descriptors and the environment, with every layer on.
TEST_F(Sandbox, FilesAreWhatThePolicySays) {
  close(open(folder_.File("in/input").c_str(), O_WRONLY | O_CREAT, 0644));
  EXPECT_EQ(Run("read", folder_.File("in/input")), kWorked);
  EXPECT_EQ(Run("write", folder_.File("in/input")), kRefused);
  EXPECT_EQ(Run("write", folder_.File("in/new")), kRefused);
  EXPECT_EQ(Run("write", folder_.File("out/new")), kWorked);
  EXPECT_EQ(Run("link", folder_.File("out/link")), kWorked);
  EXPECT_EQ(Run("read", folder_.File("out/link")), kRefused);  // leads out
  for (const char* path : {"/etc/passwd", "/etc/shadow", "/root", "/home", "/var/lib", "/run",
                           "/sys/kernel", "/proc/kcore", "/proc/1/environ", "/proc/sysrq-trigger",
                           "/dev/mem", "/dev/sda", "/dev/kmsg", "/dev/shm", "/boot"}) {
    EXPECT_EQ(Run("read", path), kRefused) << path;
  }
  for (const char* path :
       {"/usr/bin/env", "/lib/x", "/x", "/tmp/x", "/proc/sys/kernel/core_pattern",
        "/proc/self/oom_score_adj", "/dev/x", "/proc/self/uid_map"}) {
    EXPECT_EQ(Run("write", path), kRefused) << path;
  }
}

TEST_F(Sandbox, NoDescriptorButTheThreeComesAlong) {
  const int leaked = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  EXPECT_EQ(fcntl(leaked, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(Run("descriptors"), kRefused);
  close(leaked);
}

TEST_F(Sandbox, SocketsOfTheNetworkKill) { EXPECT_EQ(Run("connect", "1"), -SIGSYS); }

TEST_F(Sandbox, SystemCallsOfAttackersAreRefused) {
  if (!Available(Layer::kSeccomp)) {
    GTEST_SKIP() << "this machine lacks the layer";
  }
  for (const int number : {SYS_ptrace,
                           SYS_process_vm_readv,
                           SYS_process_vm_writev,
                           SYS_kcmp,
                           SYS_bpf,
                           SYS_perf_event_open,
                           SYS_userfaultfd,
                           SYS_io_uring_setup,
                           SYS_io_uring_enter,
                           SYS_keyctl,
                           SYS_add_key,
                           SYS_request_key,
                           SYS_mount,
                           SYS_umount2,
                           SYS_pivot_root,
                           SYS_chroot,
                           SYS_open_tree,
                           SYS_move_mount,
                           SYS_fsopen,
                           SYS_unshare,
                           SYS_setns,
                           SYS_init_module,
                           SYS_finit_module,
                           SYS_delete_module,
                           SYS_kexec_load,
                           SYS_reboot,
                           SYS_swapon,
                           SYS_acct,
                           SYS_settimeofday,
                           SYS_clock_settime,
                           SYS_sethostname,
                           SYS_iopl,
                           SYS_ioperm,
                           SYS_modify_ldt,
                           SYS_open_by_handle_at,
                           SYS_syslog,
                           SYS_fanotify_init,
                           SYS_mknodat,
                           SYS_move_pages}) {
    EXPECT_EQ(Run("system_call", std::to_string(number)), -SIGSYS) << number;
  }
  for (const int number :
       {SYS_setuid, SYS_setgid, SYS_capset, SYS_seccomp, SYS_listen, SYS_bind, SYS_accept4,
        SYS_personality, SYS_shmget, SYS_msgget, SYS_semget, SYS_chown, SYS_setxattr}) {
    EXPECT_EQ(Run("system_call", std::to_string(number)), kRefused) << number;
  }
}

TEST_F(Sandbox, AForkBombEndsAtItsLimit) {
  policy_.max_processes = 64;
  // The kernel lets root make processes without end: there a cgroup must count them.
  EXPECT_EQ(Run("fork_bomb"), geteuid() == 0 ? kWorked : kRefused);
}

TEST(Policy, ReadsBackItsArguments) {
  Policy policy;
  policy.layers = LayerSet::All();
  policy.root = "/r";
  policy.programs = {"/usr", "/lib"};
  policy.writable = {"/out"};
  policy.groups = {"/g/cgroup.procs"};
  policy.working_dir = "/out";
  policy.max_cpu_seconds = 7;
  std::vector<std::string> arguments = ToArguments(policy);
  arguments.insert(arguments.end(), {"/bin/true", "--", "x"});
  Policy parsed;
  std::vector<std::string> program;
  ASSERT_EQ(FromArguments(arguments, parsed, program), "");
  EXPECT_EQ(program, (std::vector<std::string>{"/bin/true", "--", "x"}));
  EXPECT_EQ(parsed.layers, policy.layers);
  EXPECT_EQ(ToArguments(parsed), ToArguments(policy));
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{},
                                             {"--"},
                                             {"/bin/true"},
                                             {"--layers", "none", "--", "x"},
                                             {"--layers", "mount", "--", "x"},
                                             {"--root", "relative", "--", "x"},
                                             {"--max-cpu-seconds", "1x", "--", "x"},
                                             {"--what", "/", "--", "x"}}) {
    Policy none;
    EXPECT_NE(FromArguments(bad, none, program), "");
  }
}

}  // namespace
}  // namespace qb::sandbox

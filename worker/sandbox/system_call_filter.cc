#include "worker/sandbox/system_call_filter.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

namespace qb::sandbox {
namespace {

// Grouped by what they are about. Names that the library does not know on this machine are skipped.
constexpr const char* kAllowed[] = {
    // files
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "pwrite64",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "open",
    "openat",
    "openat2",
    "close",
    "close_range",
    "creat",
    "lseek",
    "stat",
    "fstat",
    "lstat",
    "newfstatat",
    "statx",
    "statfs",
    "fstatfs",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getdents",
    "getdents64",
    "mkdir",
    "mkdirat",
    "rmdir",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "truncate",
    "ftruncate",
    "fallocate",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "fadvise64",
    "readahead",
    "copy_file_range",
    "sendfile",
    "splice",
    "tee",
    "flock",
    "fcntl",
    "dup",
    "dup2",
    "dup3",
    "pipe",
    "pipe2",
    "ioctl",
    "umask",
    "chmod",
    "fchmod",
    "fchmodat",
    "utimensat",
    "futimesat",
    "utime",
    "utimes",
    "chdir",
    "fchdir",
    "getcwd",
    "getxattr",
    "lgetxattr",
    "fgetxattr",
    "listxattr",
    "llistxattr",
    "flistxattr",
    "memfd_create",
    // waiting
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "eventfd",
    "eventfd2",
    "timerfd_create",
    "timerfd_settime",
    "timerfd_gettime",
    "signalfd",
    "signalfd4",
    "inotify_init1",
    "inotify_add_watch",
    "inotify_rm_watch",
    // memory
    "brk",
    "mmap",
    "munmap",
    "mremap",
    "mprotect",
    "madvise",
    "msync",
    "mincore",
    "mlock",
    "munlock",
    "mlock2",
    "membarrier",
    "pkey_alloc",
    "pkey_free",
    "pkey_mprotect",
    "set_mempolicy",
    "get_mempolicy",
    "mbind",
    // threads and processes
    "fork",
    "vfork",
    "execve",
    "execveat",
    "exit",
    "exit_group",
    "wait4",
    "waitid",
    "futex",
    "futex_waitv",
    "set_tid_address",
    "set_robust_list",
    "get_robust_list",
    "rseq",
    "arch_prctl",
    "prctl",
    "getpid",
    "getppid",
    "gettid",
    "getpgid",
    "getpgrp",
    "setpgid",
    "getsid",
    "setsid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getresuid",
    "getresgid",
    "getgroups",
    "capget",
    "kill",
    "tgkill",
    "tkill",
    "pidfd_open",
    "pidfd_send_signal",
    "sched_yield",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_getparam",
    "sched_setparam",
    "sched_getscheduler",
    "sched_setscheduler",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_getattr",
    "sched_setattr",
    "getpriority",
    "setpriority",
    "getcpu",
    "getrusage",
    "getrlimit",
    "setrlimit",
    "prlimit64",
    "times",
    // signals
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigpending",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "sigaltstack",
    "pause",
    "alarm",
    "setitimer",
    "getitimer",
    "timer_create",
    "timer_settime",
    "timer_gettime",
    "timer_getoverrun",
    "timer_delete",
    // time and the machine
    "clock_gettime",
    "clock_getres",
    "clock_nanosleep",
    "nanosleep",
    "gettimeofday",
    "time",
    "uname",
    "sysinfo",
    "getrandom",
    "restart_syscall",
    // what is left of sockets when none can be made: a pair within the process
    "sendmsg",
    "recvmsg",
    "sendto",
    "recvfrom",
    "shutdown",
    "getsockopt",
    "getsockname",
};

// No compiler ever needs these: who calls them has taken the process over.
constexpr const char* kKilled[] = {
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kcmp",
    "pidfd_getfd",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "keyctl",
    "add_key",
    "request_key",
    "mount",
    "umount2",
    "umount",
    "pivot_root",
    "chroot",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "unshare",
    "setns",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "quotactl_fd",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "sethostname",
    "setdomainname",
    "iopl",
    "ioperm",
    "modify_ldt",
    "name_to_handle_at",
    "open_by_handle_at",
    "lookup_dcookie",
    "syslog",
    "vhangup",
    "nfsservctl",
    "fanotify_init",
    "fanotify_mark",
    "mknod",
    "mknodat",
    "migrate_pages",
    "move_pages",
    "vm86",
    "vm86old",
};

constexpr scmp_datum_t kNewNamespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
                                        CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

// A filter under construction; the first error is kept.
class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(EPERM))) {}
  ~Filter() {
    if (context_ != nullptr) {
      seccomp_release(context_);
    }
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  void Rule(uint32_t action, const char* name) {
    if (const int number = seccomp_syscall_resolve_name(name); number >= 0) {
      Note(context_ == nullptr ? -ENOMEM
                               : seccomp_rule_add_array(context_, action, number, 0, nullptr));
    }
  }
  void Rule(uint32_t action, const char* name, scmp_arg_cmp condition) {
    const int number = seccomp_syscall_resolve_name(name);
    Note(context_ == nullptr ? -ENOMEM
                             : seccomp_rule_add_array(context_, action, number, 1, &condition));
  }
  // The library would set it by itself, behind the back of the layer of that name.
  void LeaveNoNewPrivs() {
    Note(context_ == nullptr ? -ENOMEM : seccomp_attr_set(context_, SCMP_FLTATR_CTL_NNP, 0));
  }
  Outcome Load() {
    if (error_ == 0) {
      Note(seccomp_load(context_));
    }
    return error_ == 0 ? std::nullopt : Outcome(Failure{-error_, "layer seccomp"});
  }

 private:
  void Note(int result) { error_ = error_ == 0 && result < 0 ? result : error_; }

  scmp_filter_ctx context_;
  int error_ = 0;
};

}  // namespace

Outcome FilterSystemCalls() {
  Filter filter;
  filter.LeaveNoNewPrivs();
  for (const char* name : kAllowed) {
    filter.Rule(SCMP_ACT_ALLOW, name);
  }
  for (const char* name : kKilled) {
    filter.Rule(SCMP_ACT_KILL_PROCESS, name);
  }
  filter.Rule(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  filter.Rule(SCMP_ACT_ALLOW, "clone", {0, SCMP_CMP_MASKED_EQ, kNewNamespaces, 0});
  filter.Rule(SCMP_ACT_ALLOW, "socketpair", {0, SCMP_CMP_EQ, AF_UNIX, 0});
  // A local socket fails like a service that is not there: the C library asks for one by itself.
  filter.Rule(SCMP_ACT_KILL_PROCESS, "socket", {0, SCMP_CMP_NE, AF_UNIX, 0});
  return filter.Load();
}

}  // namespace qb::sandbox

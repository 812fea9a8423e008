// A compile process: its start, its signals and its end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace qb::worker {

struct ChildOptions {
  std::vector<std::string> argv;  // argv[0] is the path of the program
  std::vector<std::string> env;   // "NAME=value", the whole environment
  std::string working_dir;
  // argv[0] is qbc-sandbox (see worker/sandbox): it starts the real program and tells on descriptor
  // 3 when it cannot: an errno as an int, then text. It closes 3 once the program runs.
  bool starts_another = false;
};

// How a compile process ended.
struct ExitReport {
  enum class Kind {
    kExited,      // by itself, with exit_code
    kSignalled,   // by a signal that we did not send
    kTimedOut,    // we ended it because its run time was over
    kKilledByUs,  // we ended it because somebody asked for it
    // It went over a limit (see RunLimits), and we or the kernel ended it.
    kMemoryLimit,
    kCpuLimit,
    kDiskLimit,
    kOutputLimit,
  };
  Kind kind = Kind::kExited;
  int exit_code = 0;  // of an exit, also of one after our SIGTERM; -1 after a signal
  int signal = 0;     // the signal that ended it, 0 for an exit
  double wall_s = 0;
  double cpu_s = 0;            // user and system, with the children it waited for
  int64_t peak_rss_bytes = 0;  // of its largest process, or of all together when that is counted
  std::string limit;           // what limit it went over, in words

  // "exited with code 3", "was ended by signal 11 (Segmentation fault)", ...
  std::string ToString() const;
};

// A child in its own session and process group, with pipes on its standard output and error, that
// the kernel kills when this process dies.
//
// The kernel ties that to the thread which called Start: it must live as long as the child may.
// One thread.
class ChildProcess {
 public:
  // Returns after the exec succeeded. Errors: Internal with the failed step and errno text;
  // NotFound when the program does not exist.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const ChildOptions& options);

  // Kills and reaps a child that still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  int stdout_fd() const { return stdout_fd_; }  // non-blocking
  int stderr_fd() const { return stderr_fd_; }  // non-blocking
  // Readable once the child ended (a pidfd).
  int exit_fd() const { return pid_fd_; }

  // To every process of the group. Does nothing after Reap.
  void SignalGroup(int signal) const;

  // Ends every process: at once, or through the program that started another, which has ended only
  // when all of them have.
  void Kill() const;
  // Whether Kill leaves the ending to a program, which may fail at it.
  bool kills_through_another() const { return starts_another_; }

  // Kills what is left of the group, waits for the child and tells how it ended; `kind` is kExited
  // or kSignalled. Blocks until the child ended.
  ExitReport Reap();

 private:
  ChildProcess(pid_t pid, int pid_fd, int stdout_fd, int stderr_fd, bool starts_another)
      : pid_(pid),
        pid_fd_(pid_fd),
        stdout_fd_(stdout_fd),
        stderr_fd_(stderr_fd),
        starts_another_(starts_another) {}

  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int stdout_fd_ = -1;
  int stderr_fd_ = -1;
  bool starts_another_ = false;
  bool reaped_ = false;
};

}  // namespace qb::worker

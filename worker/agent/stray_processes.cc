#include "worker/agent/stray_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace qb::worker {
namespace {

// "" when the process is gone, is a zombie or belongs to somebody else.
std::string EnvironmentOf(pid_t pid) {
  const int fd = ::open(absl::StrCat("/proc/", pid, "/environ").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return "";
  }
  std::string text(size_t{256} * 1024, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got <= 0) {
      break;
    }
    size += static_cast<size_t>(got);
  }
  ::close(fd);
  text.resize(size);
  return text;
}

bool BelongsTo(pid_t pid, const std::string& folder) {
  const std::string assignment = absl::StrCat(kAttemptDirVariable, "=", folder);
  const std::string environment = EnvironmentOf(pid);
  for (absl::string_view entry : absl::StrSplit(environment, '\0')) {
    if (absl::ConsumePrefix(&entry, assignment)) {
      return entry.empty() || entry[0] == '/';
    }
  }
  return false;
}

std::vector<pid_t> ProcessesOf(const std::string& folder) {
  std::vector<pid_t> found;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) {
    return found;
  }
  while (const dirent* entry = ::readdir(proc)) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->d_name, &pid) && pid != ::getpid() && BelongsTo(pid, folder)) {
      found.push_back(pid);
    }
  }
  ::closedir(proc);
  return found;
}

}  // namespace

int KillStrayProcesses(const std::string& folder) {
  std::set<pid_t> all;
  // Once more after each kill: a process may have forked meanwhile.
  for (int round = 0; round < 500; ++round) {
    const std::vector<pid_t> found = ProcessesOf(folder);
    if (found.empty()) {
      break;
    }
    for (const pid_t pid : found) {
      all.insert(pid);
      ::kill(pid, SIGKILL);
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return static_cast<int>(all.size());
}

}  // namespace qb::worker

#include "server/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/status_macros.h"
#include "server/config_check.h"
#include "server/finding.h"
#include "server/jobs/sqlite_connection.h"
#include "server/runtime/durable_files.h"
#include "server/server_flags.h"

namespace qb::server {
namespace {

namespace fs = std::filesystem;

constexpr int kSyncs = 21;
// No medium is faster than this; tmpfs and disks that only say so are.
constexpr absl::Duration kFastestSync = absl::Microseconds(10);
constexpr absl::Duration kSlowSync = absl::Milliseconds(50);
constexpr uint64_t kEnoughDescriptors = 4096;

// A folder for tries that goes with the object.
class TryFolder {
 public:
  static absl::StatusOr<TryFolder> Make(const std::string& parent) {
    std::string path = parent + "/doctor-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return FileError(errno, "make a folder in", parent);
    }
    return TryFolder(path);
  }
  TryFolder(TryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TryFolder& operator=(TryFolder&&) = delete;
  ~TryFolder() {
    if (!path_.empty()) {
      std::error_code error;
      fs::remove_all(path_, error);
    }
  }
  const std::string& path() const { return path_; }

 private:
  explicit TryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Median time of a 4 KiB write with fdatasync.
absl::StatusOr<absl::Duration> MeasureSync(const std::string& folder) {
  const std::string path = folder + "/sync";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return FileError(errno, "make", path);
  }
  const std::array<char, 4096> block = {};
  std::vector<absl::Duration> times;
  times.reserve(kSyncs);
  absl::Status status;
  for (int i = 0; i < kSyncs && status.ok(); ++i) {
    const absl::Time begin = absl::Now();
    const auto offset = static_cast<off_t>(i) * static_cast<off_t>(block.size());
    if (pwrite(fd, block.data(), block.size(), offset) < 0 || fdatasync(fd) != 0) {
      status = FileError(errno, "write and sync", path);
    }
    times.push_back(absl::Now() - begin);
  }
  close(fd);
  QB_RETURN_IF_ERROR(status);
  std::nth_element(times.begin(), times.begin() + kSyncs / 2, times.end());
  return times[kSyncs / 2];
}

void TrySync(const std::string& folder, Findings& findings) {
  const absl::StatusOr<absl::Duration> time = MeasureSync(folder);
  if (!findings.Check("sync", time.status())) {
    return;
  }
  const std::string text = absl::StrFormat("%.2f ms for 4 KiB", absl::ToDoubleMilliseconds(*time));
  if (*time < kFastestSync) {
    findings.Note("sync", text + ": no disk is that fast: a power cut may lose accepted jobs");
  } else if (*time > kSlowSync) {
    findings.Note("sync", text + ": submits will be slow");
  } else {
    findings.Good("sync", text);
  }
}

// The same way that a server opens its own.
void TryDatabase(const std::string& folder, Findings& findings) {
  const auto database = SqliteConnection::Open(folder + "/try.db", SqliteConnection::Mode::kWriter);
  absl::Status status = database.status();
  if (status.ok()) {
    status = (*database)->Execute("CREATE TABLE t(x); INSERT INTO t VALUES (1);");
  }
  if (findings.Check("write-ahead log", status)) {
    findings.Good("write-ahead log", absl::StrCat("SQLite ", SqliteVersion()));
  }
}

void TryFiles(const std::string& data_dir, Findings& findings) {
  std::string folder = data_dir;
  std::error_code error;
  while (folder.size() > 1 && !fs::exists(folder, error)) {
    folder = fs::path(folder).parent_path().string();
  }
  const absl::StatusOr<TryFolder> tries = TryFolder::Make(folder);
  if (findings.Check("sync", tries.status())) {
    TrySync(tries->path(), findings);
    TryDatabase(tries->path(), findings);
  }
}

void CheckDescriptors(Findings& findings) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::string text = absl::StrCat(limit.rlim_cur, " (ulimit -n)");
  if (limit.rlim_cur < kEnoughDescriptors) {
    findings.Note("descriptors", absl::StrCat(text, ": a connection takes one; ",
                                              kEnoughDescriptors, " or more are better"));
  } else {
    findings.Good("descriptors", text);
  }
}

// Runs `qbc-worker --doctor`, which tries each layer of the sandbox in a child of its own, with its
// output on ours. Returns its exit code; -1 when it could not be run.
int RunWorkerDoctor(const std::string& worker) {
  std::array<std::string, 2> words = {worker, "--doctor"};
  std::array<char*, 3> argv = {words[0].data(), words[1].data(), nullptr};
  pid_t pid = -1;
  if (posix_spawn(&pid, worker.c_str(), nullptr, nullptr, argv.data(), environ) != 0) {
    return -1;
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool HasDataFolder(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
    return word == "--data-dir" || absl::StartsWith(word, "--data-dir=");
  });
}

constexpr char kHelp[] =
    R"(Usage: qbc-server doctor [--data-dir DIR] [flags of the server]

Tries what a server and the workers on this machine rely on, and says what came of it: good, note or
problem; for each layer of the sandbox and for limits of memory active or missing. The exit code is 1
when something is missing or a problem. A server may be running.
)";

}  // namespace

int RunDoctor(const std::vector<std::string>& arguments, const std::string& own_path,
              std::ostream& out, std::ostream& err) {
  const std::string own_folder = own_path.substr(0, own_path.rfind('/'));
  const bool has_folder = HasDataFolder(arguments);
  std::vector<std::string> all = arguments;
  if (!has_folder) {
    all.push_back("--data-dir=/");  // not looked at below
  }
  const absl::StatusOr<ServerFlags> flags = ParseServerFlags(all, own_folder);
  if (!flags.ok()) {
    err << "qbc-server doctor: " << flags.status().message() << "\n";
    return 2;
  }
  if (flags->help) {
    out << kHelp;
    return 0;
  }
  Findings findings;
  if (has_folder) {
    CheckAccess(*flags, findings);
    CheckDataFolder(*flags, findings);
    TryFiles(flags->server.data_dir, findings);
  }
  CheckDescriptors(findings);
  const std::string& worker = flags->worker_binary;
  const bool has_worker = access(worker.c_str(), X_OK) == 0;
  if (!has_worker) {
    findings.Note("sandbox", absl::StrCat("not tried: '", worker,
                                          "' is not there; run qbc-worker --doctor on the "
                                          "machines of workers"));
  }
  findings.Print(out);
  out << std::flush;
  const int sandbox = has_worker ? RunWorkerDoctor(worker) : 0;
  return findings.problems() == 0 && sandbox == 0 ? 0 : 1;
}

}  // namespace qb::server

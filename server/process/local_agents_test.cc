#include "server/process/local_agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "server/process/file_lock.h"

namespace qb::server {
namespace {

constexpr absl::Duration kLongWait = absl::Seconds(60);

// What the supervisor logs, with a way to wait for it.
class LogLines {
 public:
  void Add(const std::string& line) {
    absl::MutexLock lock(&mutex_);
    lines_.push_back(line);
  }
  // Waits until `count` lines contain `text`; returns them.
  std::vector<std::string> WaitFor(const std::string& text, size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return Matching(text).size() >= count;
    };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), kLongWait)) << text;
    return Matching(text);
  }

 private:
  std::vector<std::string> Matching(const std::string& text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<std::string> found;
    for (const std::string& line : lines_) {
      if (absl::StrContains(line, text)) {
        found.push_back(line);
      }
    }
    return found;
  }

  absl::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

class LocalAgentsTest : public ::testing::Test {
 protected:
  std::string Script(const std::string& name, const std::string& body) {
    std::string path = folder_.File(name);
    EXPECT_TRUE(WriteFileAtomically(path, "#!/bin/sh\n" + body).ok());
    EXPECT_EQ(chmod(path.c_str(), 0700), 0);
    return path;
  }

  LocalAgentsOptions Options(int count, const std::string& worker_body) {
    LocalAgentsOptions options;
    options.count = count;
    // Stands for `qbc-server --run-agent <pid>`.
    options.server_binary = Script("server", "shift 2\nexec \"$@\"\n");
    options.worker_binary = Script("worker", worker_body);
    options.compiler_binary = "/bin/true";
    options.server_address = "unix:/nowhere";
    options.work_folder = folder_.File("workers");
    options.first_pause_ms = 1;
    options.longest_pause_ms = 50;
    options.log = Log([this](const LogLine& line) { log_.Add(line.message); });
    return options;
  }

  static int PidOf(const std::string& started_line) {
    int pid = 0;
    EXPECT_TRUE(absl::SimpleAtoi(started_line.substr(started_line.rfind(' ') + 1), &pid));
    return pid;
  }

  qb::testing::TempDir folder_;
  LogLines log_;
};

TEST_F(LocalAgentsTest, StartsAgainWhatDies) {
  QB_ASSERT_OK_AND_ASSIGN(const auto agents, LocalAgents::Start(Options(2, "exec sleep 600\n")));
  const auto started = log_.WaitFor("started as process", 2);
  kill(PidOf(started[0]), SIGKILL);
  log_.WaitFor("was killed by signal 9", 1);
  log_.WaitFor("started as process", 3);
  agents->Stop(kLongWait);
  log_.WaitFor("was killed by signal 15", 2);
}

TEST_F(LocalAgentsTest, KeepsTryingAnAgentThatExitsAtOnce) {
  QB_ASSERT_OK_AND_ASSIGN(const auto agents, LocalAgents::Start(Options(1, "exit 3\n")));
  log_.WaitFor("exited with 3", 4);
}

TEST_F(LocalAgentsTest, GivesAgentsTheirOwnFoldersAndAddress) {
  // Each run appends its line and exits: the second death says that the first line is there.
  QB_ASSERT_OK_AND_ASSIGN(
      const auto agents,
      LocalAgents::Start(Options(1, "echo \"$@\" >> \"" + folder_.File("args") + "\"\n")));
  log_.WaitFor("exited with 0", 2);
  QB_ASSERT_OK_AND_ASSIGN(const std::string lines, ReadFile(folder_.File("args")));
  EXPECT_EQ(lines.substr(0, lines.find('\n')),
            "--server unix:/nowhere --worker-id local-0 --slots 1 --work-dir " +
                folder_.File("workers/local-0") + " --compiler-binary /bin/true --log-format text");
}

TEST_F(LocalAgentsTest, KillsWhatIgnoresTheRequestToEnd) {
  QB_ASSERT_OK_AND_ASSIGN(const auto agents,
                          LocalAgents::Start(Options(1, "trap '' TERM\nexec sleep 600\n")));
  const int pid = PidOf(log_.WaitFor("started as process", 1)[0]);
  agents->Stop(absl::Milliseconds(50));
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST_F(LocalAgentsTest, ProgramThatIsNotThereIsLogged) {
  LocalAgentsOptions options = Options(1, "exit 0\n");
  options.server_binary = folder_.File("absent");
  QB_ASSERT_OK_AND_ASSIGN(const auto agents, LocalAgents::Start(options));
  log_.WaitFor("cannot start", 2);
}

TEST(RunAgent, RefusesAParentThatIsGone) {
  EXPECT_EQ(RunAgent({}), 2);
  EXPECT_EQ(RunAgent({"x", "/bin/true"}), 2);
  const pid_t child = fork();
  if (child == 0) {
    _exit(RunAgent({"1", "/bin/true"}));  // our parent is not process 1
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

TEST(RunAgent, BecomesTheProgram) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    _exit(RunAgent({std::to_string(parent), "/bin/sh", "-c", "exit 7"}));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST(FileLock, IsHeldByOneAtATime) {
  qb::testing::TempDir folder;
  {
    QB_ASSERT_OK_AND_ASSIGN(const FileLock lock, FileLock::Take(folder.File("l"), "in use"));
    EXPECT_EQ(FileLock::Take(folder.File("l"), "in use").status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  QB_EXPECT_OK(FileLock::Take(folder.File("l"), "in use"));
  EXPECT_FALSE(FileLock::Take(folder.File("no/such/folder"), "in use").ok());
}

}  // namespace
}  // namespace qb::server

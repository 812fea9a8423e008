// qbc-server: keeps compile jobs and hands them to worker agents.
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/atomic_file.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/build_server.h"
#include "server/jobs/sqlite_connection.h"
#include "server/process/local_agents.h"
#include "server/server_flags.h"
#include "server/token_command.h"

namespace qb::server {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitStoreFailed = 70;
constexpr absl::Duration kAgentGrace = absl::Seconds(15);
// Calls take milliseconds, and what is cut off is sent again by its client. Not longer: gRPC waits
// until every connection is closed, and clients that do nothing at the moment do not close theirs.
constexpr absl::Duration kCallGrace = absl::Milliseconds(500);

void LogToStderr(LogLevel level, const std::string& message) {
  const std::string line =
      absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()), " ",
                   LogLevelName(level), " qbc-server: ", message, "\n");
  // One write a line, so that lines of several threads do not mix.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

std::string OwnPath() {
  std::array<char, PATH_MAX> path = {};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return size > 0 ? std::string(path.data(), static_cast<size_t>(size)) : "qbc-server";
}

absl::Status CheckExecutable(const std::string& flag, const std::string& path) {
  return access(path.c_str(), X_OK) == 0
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(flag, ": '", path, "' is not executable"));
}

// Tells where the server listens, once it does.
absl::Status Announce(const ServerFlags& flags, const std::string& address,
                      const std::string& http_address) {
  if (!http_address.empty()) {
    LogToStderr(LogLevel::kInfo, absl::StrCat("dashboard at ", http_address, "/"));
    if (!flags.http_port_file.empty()) {
      QB_RETURN_IF_ERROR(WriteFileAtomically(flags.http_port_file, http_address + "\n"));
    }
  }
  printf("%s\n", address.c_str());
  fflush(stdout);
  return flags.port_file.empty() ? absl::OkStatus()
                                 : WriteFileAtomically(flags.port_file, address + "\n");
}

absl::StatusOr<std::unique_ptr<LocalAgents>> StartAgents(const ServerFlags& flags,
                                                         const std::string& address) {
  QB_RETURN_IF_ERROR(CheckExecutable("--worker-binary", flags.worker_binary));
  QB_RETURN_IF_ERROR(CheckExecutable("--compiler-binary", flags.compiler_binary));
  LocalAgentsOptions options;
  options.count = flags.local_workers;
  options.server_binary = OwnPath();
  options.worker_binary = flags.worker_binary;
  options.compiler_binary = flags.compiler_binary;
  options.server_address = address;
  options.work_folder = flags.server.data_dir + "/workers";
  options.log = LogToStderr;
  return LocalAgents::Start(std::move(options));
}

// Runs until a signal of `signals`, which are blocked, or a fatal error of the store.
absl::Status Serve(ServerFlags flags, const sigset_t& signals, std::atomic<bool>& store_failed) {
  flags.server.version = QBC_VERSION;
  flags.server.log = LogToStderr;
  flags.server.on_fatal = [&store_failed](const absl::Status& cause) {
    LogToStderr(LogLevel::kError, absl::StrCat("the store has failed: ", cause.ToString()));
    store_failed = true;
    kill(getpid(), SIGTERM);
  };
  QB_ASSIGN_OR_RETURN(std::unique_ptr<CompileServer> server, BuildServer(flags.server));
  std::unique_ptr<LocalAgents> agents;
  if (flags.local_workers > 0) {
    QB_ASSIGN_OR_RETURN(agents, StartAgents(flags, server->worker_address()));
  }
  QB_RETURN_IF_ERROR(Announce(flags, server->address(), server->http_address()));
  LogToStderr(LogLevel::kInfo, absl::StrCat("listening on ", server->address()));
  int number = 0;
  sigwait(&signals, &number);
  LogToStderr(LogLevel::kInfo, absl::StrCat("signal ", number, ": ending"));
  server->StopGivingWork();
  if (agents != nullptr) {
    agents->Stop(kAgentGrace);
  }
  server->Shutdown(kCallGrace);
  return absl::OkStatus();
}

int Main(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0] == "token") {
    return RunTokenCommand({arguments.begin() + 1, arguments.end()}, std::cout, std::cerr);
  }
  if (!arguments.empty() && arguments[0] == kRunAgentFlag) {
    return RunAgent({arguments.begin() + 1, arguments.end()});
  }
  const std::string own_path = OwnPath();
  absl::StatusOr<ServerFlags> flags =
      ParseServerFlags(arguments, own_path.substr(0, own_path.rfind('/')));
  if (!flags.ok()) {
    fprintf(stderr, "qbc-server: %s\n", std::string(flags.status().message()).c_str());
    return kExitUsage;
  }
  if (flags->help) {
    fputs(ServerUsage().c_str(), stdout);
    return kExitOk;
  }
  if (flags->version) {
    printf("qbc-server %s\nsqlite %s\n", QBC_VERSION, SqliteVersion().c_str());
    return kExitOk;
  }
  // Before any thread starts, so that all of them leave these signals to sigwait.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  std::atomic<bool> store_failed{false};
  const absl::Status status = Serve(*std::move(flags), signals, store_failed);
  if (!status.ok()) {
    LogToStderr(LogLevel::kError, std::string(status.message()));
    return status.code() == absl::StatusCode::kInvalidArgument ? kExitUsage : kExitFailed;
  }
  return store_failed ? kExitStoreFailed : kExitOk;
}

}  // namespace
}  // namespace qb::server

int main(int argc, char** argv) {
  return qb::server::Main(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}

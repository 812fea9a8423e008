#include "server/serve.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/atomic_file.h"
#include "core/base/status_macros.h"
#include "server/build_server.h"
#include "server/process/local_agents.h"

namespace qb::server {
namespace {

constexpr absl::Duration kAgentGrace = absl::Seconds(15);
// Calls take milliseconds, and what is cut off is sent again by its client. Not longer: gRPC waits
// until every connection is closed, and clients that do nothing at the moment do not close theirs.
constexpr absl::Duration kCallGrace = absl::Milliseconds(500);

absl::Status CheckExecutable(const std::string& flag, const std::string& path) {
  return access(path.c_str(), X_OK) == 0
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(flag, ": '", path, "' is not executable"));
}

// Tells where the server listens, once it does.
absl::Status Announce(const ServerFlags& flags, const Log& log, const CompileServer& server) {
  if (!server.http_address().empty()) {
    log(LogLevel::kInfo, absl::StrCat("dashboard at ", server.http_address(), "/"));
    if (!flags.http_port_file.empty()) {
      QB_RETURN_IF_ERROR(WriteFileAtomically(flags.http_port_file, server.http_address() + "\n"));
    }
  }
  log(LogLevel::kInfo, absl::StrCat("listening on ", server.address()));
  printf("%s\n", server.address().c_str());
  fflush(stdout);
  return flags.port_file.empty() ? absl::OkStatus()
                                 : WriteFileAtomically(flags.port_file, server.address() + "\n");
}

absl::StatusOr<std::unique_ptr<LocalAgents>> StartAgents(const ServerFlags& flags, const Log& log,
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
  options.log = log;
  options.log_format = flags.log_format;
  return LocalAgents::Start(std::move(options));
}

int WaitForSignal(const sigset_t& signals) {
  int number = 0;
  sigwait(&signals, &number);
  return number;
}

// Waits for the thread that ends the server, and for a signal that does not let it.
void WaitForEnd(const sigset_t& signals, const Log& log, const std::atomic<bool>& ended,
                const std::atomic<bool>& store_failed) {
  bool failure_told = store_failed;
  while (!ended) {
    const int number = WaitForSignal(signals);
    if (ended) {
      return;
    }
    if (store_failed && !std::exchange(failure_told, true)) {
      continue;  // it sends a signal too
    }
    log(LogLevel::kWarning, absl::StrCat("signal ", number, " again: ending at once"));
    // The kernel ends the local agents with us, and they their compile processes.
    _exit(kExitAtOnce);
  }
}

}  // namespace

std::string OwnPath() {
  std::array<char, PATH_MAX> path = {};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return size > 0 ? std::string(path.data(), static_cast<size_t>(size)) : "qbc-server";
}

absl::Status Serve(ServerFlags flags, const Log& log, const sigset_t& signals,
                   std::atomic<bool>& store_failed) {
  flags.server.version = QBC_VERSION;
  flags.server.log = log;
  flags.server.on_fatal = [&](const absl::Status& cause) {
    log(LogLevel::kError, absl::StrCat("the store has failed: ", cause.ToString()));
    store_failed = true;
    kill(getpid(), SIGTERM);
  };
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<CompileServer> server, BuildServer(flags.server));
  std::unique_ptr<LocalAgents> agents;
  if (flags.local_workers > 0) {
    QB_ASSIGN_OR_RETURN(agents, StartAgents(flags, log, server->worker_address()));
  }
  QB_RETURN_IF_ERROR(Announce(flags, log, *server));
  const int number = WaitForSignal(signals);
  log(LogLevel::kInfo,
      absl::StrCat("signal ", number, ": draining for ", absl::FormatDuration(flags.drain_delay)));
  server->BeginDrain();
  std::atomic<bool> ended = false;
  std::thread end([&] {
    if (!store_failed) {
      absl::SleepFor(flags.drain_delay);
    }
    if (agents != nullptr) {
      agents->Stop(kAgentGrace);
    }
    server->Shutdown(kCallGrace);
    ended = true;
    kill(getpid(), SIGTERM);  // wakes the wait below
  });
  WaitForEnd(signals, log, ended, store_failed);
  end.join();
  log(LogLevel::kInfo, "ended");
  return absl::OkStatus();
}

}  // namespace qb::server

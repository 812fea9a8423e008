// qbc-server: keeps compile jobs and hands them to worker agents.
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <stdio.h>

#include <array>
#include <atomic>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/types/span.h"

#include "core/base/log_line.h"
#include "server/backup_command.h"
#include "server/config_check.h"
#include "server/doctor.h"
#include "server/jobs/sqlite_connection.h"
#include "server/process/local_agents.h"
#include "server/serve.h"
#include "server/server_flags.h"
#include "server/token_command.h"

namespace qb::server {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitStoreFailed = 70;

using Arguments = std::vector<std::string>;

struct Subcommand {
  const char* name;
  int (*run)(const Arguments& arguments);  // what follows the name
};

constexpr auto kSubcommands = std::to_array<Subcommand>({
    {"token",
     [](const Arguments& arguments) { return RunTokenCommand(arguments, std::cout, std::cerr); }},
    {"backup",
     [](const Arguments& arguments) { return RunBackupCommand(arguments, std::cout, std::cerr); }},
    {"doctor",
     [](const Arguments& arguments) {
       return RunDoctor(arguments, OwnPath(), std::cout, std::cerr);
     }},
    {kRunAgentFlag, [](const Arguments& arguments) { return RunAgent(arguments); }},
});

int RunServer(ServerFlags flags) {
  // Before any thread starts, so that all of them leave these signals to sigwait.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  // Protobuf would write a line for every text of a stranger that is no UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  const Log log = StderrLog(flags.log_format, "qbc-server");
  std::atomic<bool> store_failed{false};
  const absl::Status status = Serve(std::move(flags), log, signals, store_failed);
  if (!status.ok()) {
    log(LogLevel::kError, std::string(status.message()));
    return status.code() == absl::StatusCode::kInvalidArgument ? kExitUsage : kExitFailed;
  }
  return store_failed ? kExitStoreFailed : kExitOk;
}

int Main(const Arguments& arguments) {
  for (const Subcommand& subcommand : kSubcommands) {
    if (!arguments.empty() && arguments[0] == subcommand.name) {
      return subcommand.run({arguments.begin() + 1, arguments.end()});
    }
  }
  const std::string own_path = OwnPath();
  absl::StatusOr<ServerFlags> flags =
      ParseServerFlags(arguments, own_path.substr(0, own_path.rfind('/')));
  if (!flags.ok()) {
    for (const absl::string_view line : absl::StrSplit(flags.status().message(), '\n')) {
      fprintf(stderr, "qbc-server: %s\n", std::string(line).c_str());
    }
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
  if (flags->check_config) {
    return RunConfigCheck(*flags, std::cout, std::cerr);
  }
  return RunServer(*std::move(flags));
}

}  // namespace
}  // namespace qb::server

int main(int argc, char** argv) {
  return qb::server::Main(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}

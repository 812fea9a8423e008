// qbc-worker: the agent that takes compile jobs from a qbc-server.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "core/base/digest.h"
#include "core/base/log_line.h"
#include "core/base/secret_file.h"
#include "core/base/status_macros.h"
#include "core/base/uuid.h"
#include "worker/agent/agent.h"
#include "worker/agent/agent_flags.h"
#include "worker/agent/attempt_directory.h"
#include "worker/agent/child_runner.h"
#include "worker/agent/compiler_binary.h"
#include "worker/agent/confinement.h"
#include "worker/agent/gpu_slots.h"
#include "worker/agent/grpc_worker_stub.h"

namespace qb::worker {
namespace {

constexpr char kVersion[] = "0.1.0";

std::string HostName() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

// Letters that a worker_id may have, from a host name that may have others.
std::string DefaultWorkerId(const std::string& work_dir) {
  std::string host = HostName().substr(0, 40);
  for (char& c : host) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    c = plain ? c : '-';
  }
  return absl::StrCat(host, "-", Sha256Hex(work_dir).substr(0, 8));
}

AgentOptions MakeOptions(const AgentFlags& flags, const WorkDirectory& work,
                         const std::string& compiler, const std::string& build) {
  const int cpus = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  AgentOptions options;
  options.worker_id = flags.worker_id.empty() ? DefaultWorkerId(work.path()) : flags.worker_id;
  options.epoch = MakeUuidV7();
  v1::WorkerCapabilities& capabilities = options.capabilities;
  capabilities.set_compiler_build(build);
  capabilities.set_worker_version(kVersion);
  capabilities.set_slots(flags.slots);
  capabilities.set_cpus(cpus);
  capabilities.set_memory_bytes(int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE));
  capabilities.set_host(HostName());
  capabilities.set_pid(::getpid());
  std::error_code error;
  const auto space = std::filesystem::space(work.path(), error);
  capabilities.set_scratch_bytes(error ? 0 : static_cast<int64_t>(space.available));
  options.attempt.work_dir = work.path();
  options.attempt.compiler_binary = compiler;
  options.attempt.default_threads =
      flags.threads_per_job > 0 ? flags.threads_per_job : std::max(1, cpus / flags.slots);
  options.attempt.kill_grace = flags.kill_grace;
  return options;
}

absl::StatusOr<std::string> SandboxBinary(const AgentFlags& flags) {
  if (!flags.sandbox_binary.empty()) {
    return flags.sandbox_binary;
  }
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? absl::StatusOr<std::string>(absl::InternalError("/proc/self/exe cannot be read"))
               : (own.parent_path() / "qbc-sandbox").string();
}

// Errors: FailedPrecondition when something is required and missing.
absl::StatusOr<Confinement> ChooseConfinement(const AgentFlags& flags,
                                              const std::string& work_dir) {
  Confinement confinement;
  if (flags.sandbox != "off") {
    QB_ASSIGN_OR_RETURN(const std::string helper, SandboxBinary(flags));
    QB_ASSIGN_OR_RETURN(confinement, ProbeConfinement(helper));
  }
  if (flags.require_sandbox &&
      (!confinement.missing.empty() || confinement.groups.kind == GroupParent::Kind::kNone)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--require-sandbox: not everything can be had here: ", confinement.ToString()));
  }
  RemoveStaleGroups(confinement.groups, GroupPrefix(work_dir));
  confinement.limits.memory_bytes = flags.memory_limit;
  confinement.limits.scratch_bytes = flags.scratch_limit;
  confinement.limits.cpu_time = flags.cpu_limit;
  return confinement;
}

int WaitForSignal(const sigset_t& signals) {
  int signal = 0;
  sigwait(&signals, &signal);
  return signal;
}

absl::Status RunAgent(const AgentFlags& flags, const Log& log, const sigset_t& signals) {
  ServerAccess access{flags.server, flags.tls_ca, flags.tls_cert, flags.tls_key, ""};
  if (!flags.token_file.empty()) {
    QB_ASSIGN_OR_RETURN(access.token, ReadSecretFile(flags.token_file));
  }
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<WorkerStub> stub, MakeGrpcWorkerStub(access));
  QB_ASSIGN_OR_RETURN(std::string compiler, FindCompilerBinary(flags.compiler_binary));
  // The sandbox shows the folder of the program itself, not that of a link to it.
  std::error_code error;
  if (const auto real = std::filesystem::canonical(compiler, error); !error) {
    compiler = real.string();
  }
  QB_ASSIGN_OR_RETURN(const WorkDirectory work, WorkDirectory::Open(flags.work_dir));
  QB_ASSIGN_OR_RETURN(const std::string build, QueryCompilerBuild(compiler));
  AgentOptions options = MakeOptions(flags, work, compiler, build);
  QB_ASSIGN_OR_RETURN(options.attempt.confinement, ChooseConfinement(flags, work.path()));
  QB_ASSIGN_OR_RETURN(options.gpus, MakeGpuInventory(flags.gpus));
  options.gpu_check_interval = flags.gpu_check;
  log(LogLevel::kInfo, absl::StrCat("worker ", options.worker_id, ", ", flags.slots,
                                    " slots, compiler ", build, ", server ", flags.server,
                                    ", processes swept at the start: ", work.swept_processes()));
  log(LogLevel::kInfo, options.attempt.confinement.ToString());
  ProcessRunner runner;
  Agent agent(std::move(options), *stub, runner, log);
  absl::Status status;
  std::atomic<bool> ended = false;
  std::thread loop([&] {
    status = agent.Run();
    ended = true;
    ::kill(::getpid(), SIGTERM);  // wakes the wait below
  });
  WaitForSignal(signals);
  agent.Shutdown();
  if (!ended) {
    WaitForSignal(signals);
  }
  if (!ended) {
    // A second signal from outside does not wait: the kernel kills the compile processes with us.
    ::_exit(130);
  }
  loop.join();
  return status;
}

int Doctor(const AgentFlags& flags) {
  const absl::StatusOr<std::string> helper = SandboxBinary(flags);
  const absl::StatusOr<Confinement> found =
      helper.ok() ? ProbeConfinement(*helper) : absl::StatusOr<Confinement>(helper.status());
  if (!found.ok()) {
    std::printf("%-14s %-12s %s\n", "sandbox", "missing",
                std::string(found.status().message()).c_str());
    return 1;
  }
  for (const sandbox::LayerRow& row : sandbox::kLayers) {
    std::printf("%-14s %-12s %s\n", std::string(row.name).c_str(),
                found->layers.Has(row.layer) ? "active" : "missing",
                absl::StrCat("takes away ", std::string(row.takes_away)).c_str());
  }
  const bool groups = found->groups.kind != GroupParent::Kind::kNone;
  std::printf("%-14s %-12s %s\n", "limits", groups ? "active" : "missing",
              found->groups.ToString().c_str());
  if (!found->missing.empty()) {
    std::printf("why: %s\n", found->missing.c_str());
  }
  return groups && found->missing.empty() ? 0 : 1;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<AgentFlags> flags =
      ParseAgentFlags(absl::MakeConstSpan(argv + 1, static_cast<size_t>(argc - 1)));
  if (!flags.ok()) {
    StderrLog(LogFormat::kText, "qbc-worker")(LogLevel::kError,
                                              std::string(flags.status().message()));
    return 2;
  }
  if (flags->help) {
    std::fputs(std::string(AgentUsage()).c_str(), stdout);
    return 0;
  }
  if (flags->version) {
    std::printf("qbc-worker %s\n", kVersion);
    return 0;
  }
  if (flags->doctor) {
    return Doctor(*flags);
  }
  // Before any thread starts, so that all inherit it and only WaitForSignal takes these.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const Log log = StderrLog(flags->log_format, "qbc-worker");
  const absl::Status status = RunAgent(*flags, log, signals);
  if (!status.ok()) {
    log(LogLevel::kError, std::string(status.message()));
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace qb::worker

int main(int argc, char** argv) { return qb::worker::Main(argc, argv); }

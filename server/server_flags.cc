#include "server/server_flags.h"

#include <array>
#include <filesystem>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/flags.h"
#include "core/base/status_macros.h"

namespace qb::server {
namespace {

constexpr int kMaxLocalWorkers = 256;
constexpr absl::Duration kDay = absl::Hours(24);

constexpr auto kFlags = std::to_array<FlagDef>({
    {"data-dir", 0, FlagKind::kValue, "DIR",
     "Where jobs, files and logs are kept; made when it is not there. Needed."},
    {"listen", 0, FlagKind::kValue, "ADDRESS",
     "unix:/path (mode 0600) or HOST:PORT, port 0 for any free one; 0.0.0.0 and [::] are every "
     "address of the machine. Beyond the machine itself it needs TLS. Default: unix:DIR/qbc.sock. "
     "The address is printed as one line when the server is ready."},
    {"auth", 0, FlagKind::kValue, "HOW",
     "required: callers show a token or a registered certificate (qbc-server token). none: who can "
     "connect may do everything; only on a unix socket and on 127.0.0.1. Default: none on a unix "
     "socket, required elsewhere."},
    {"tls-cert", 0, FlagKind::kValue, "FILE", "Certificate chain of the server, PEM."},
    {"tls-key", 0, FlagKind::kValue, "FILE", "Its private key, PEM."},
    {"tls-client-ca", 0, FlagKind::kValue, "FILE",
     "Clients must show a certificate of one of these, PEM. Default: they show none."},
    {"worker-listen", 0, FlagKind::kValue, "ADDRESS",
     "Where worker agents connect when --auth is required: a unix socket (mode 0600, who can "
     "connect is a worker) or HOST:PORT. Default: unix:DIR/worker.sock."},
    {"worker-client-ca", 0, FlagKind::kValue, "FILE",
     "On HOST:PORT a worker agent shows a certificate of one of these, PEM. Default: a token with "
     "the scope work."},
    {"port-file", 0, FlagKind::kValue, "FILE", "Also write the address to this file."},
    {"http-listen", 0, FlagKind::kValue, "ADDRESS",
     "127.0.0.1:PORT of a second listener, for browsers and Prometheus: the dashboard, a read API, "
     "/healthz, /readyz and /metrics. Port 0 for any free one. Default: none."},
    {"http-port-file", 0, FlagKind::kValue, "FILE",
     "Write the HTTP listener's address to this file, as http://127.0.0.1:PORT."},
    {"local-workers", 0, FlagKind::kValue, "N",
     "Start N worker agents on this machine and keep them running. Default 0."},
    {"worker-binary", 0, FlagKind::kValue, "FILE", "Default: qbc-worker beside this program."},
    {"compiler-binary", 0, FlagKind::kValue, "FILE",
     "What the local agents run. Default: qbcompiler beside this program."},
    {"targets", 0, FlagKind::kValue, "LIST",
     "Target devices that jobs may ask for, comma separated. Default: aries-rb, regulus-ra, "
     "regulus-rb, regulus-rb-usb."},
    {"lease-ttl", 0, FlagKind::kValue, "DURATION",
     "An agent that is silent for this long has lost its jobs. 100ms to 24h, default 30s."},
    {"cancel-grace", 0, FlagKind::kValue, "DURATION",
     "A cancelled job whose agent has not ended it after this long is given up. 100ms to 24h, "
     "default "
     "60s."},
    {"max-losses", 0, FlagKind::kValue, "N", "Lost attempts that a job survives. Default 5."},
    {"retry-base", 0, FlagKind::kValue, "DURATION",
     "The first retry waits a random time up to this, each later one up to twice as long, never "
     "more "
     "than 60s. 1ms to 60s, default 1s."},
    {"max-queued-jobs", 0, FlagKind::kValue, "N",
     "Jobs of a tenant that may wait; more are refused. Default 10000."},
    {"limits", 0, FlagKind::kValue, "FILE",
     "What each tenant may have and do, JSON; followed when it changes. Default: with --auth "
     "required 50 submits a second, 100 GiB of files and 8 uploads at a time, else "
     "--max-queued-jobs alone."},
    {"keep-succeeded", 0, FlagKind::kValue, "DURATION",
     "Jobs that succeeded are removed this long after their end, unless they are pinned; their "
     "expire_time tells when. 1s to 87600h, default 720h."},
    {"keep-failed", 0, FlagKind::kValue, "DURATION", "The same for failed jobs. Default 2160h."},
    {"keep-cancelled", 0, FlagKind::kValue, "DURATION",
     "The same for cancelled and expired jobs. Default 168h."},
    {"keep-results", 0, FlagKind::kValue, "DURATION",
     "A result answers equal jobs until it has answered none for this long. Default 720h."},
    {"keep-unused", 0, FlagKind::kValue, "DURATION",
     "Files that nothing refers to, and uploads that broke off, are removed after this time. "
     "Default 168h."},
    {"collect-interval", 0, FlagKind::kValue, "DURATION",
     "Pause between two rounds of removing. 100ms to 24h, default 60s."},
    {"min-free-mib", 0, FlagKind::kValue, "N",
     "With less than N MiB free on the disk no new jobs and uploads are accepted; what was accepted "
     "goes on. Default: a tenth of the disk, at most 5120."},
    {"max-delay", 0, FlagKind::kValue, "DURATION",
     "New jobs are refused while the server is more than this behind. 10ms to 60s, default 1s."},
    {"help", 'h', FlagKind::kSwitch, "", "Print this and exit."},
    {"version", 0, FlagKind::kSwitch, "",
     "Print the versions of the program and of SQLite and exit."},
});

// Absolute, without a slash at its end.
std::string Absolute(const std::string& path) {
  std::string text = std::filesystem::absolute(path).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') {
    text.pop_back();
  }
  return text;
}

// Leaves `ms` as it is when the flag was not given.
absl::Status ReadMs(const ParsedFlags& flags, absl::string_view name, absl::Duration low,
                    absl::Duration high, int64_t& ms) {
  QB_ASSIGN_OR_RETURN(const absl::Duration value, flags.GetDuration(name, absl::Milliseconds(ms)));
  if (value < low || value > high) {
    return absl::InvalidArgumentError(absl::StrCat("--", name, ": ", absl::FormatDuration(value),
                                                   ": expected ", absl::FormatDuration(low), " to ",
                                                   absl::FormatDuration(high)));
  }
  ms = absl::ToInt64Milliseconds(value);
  return absl::OkStatus();
}

absl::Status ReadRetention(const ParsedFlags& flags, ServerOptions& server) {
  constexpr absl::Duration kTenYears = absl::Hours(87'600);
  struct Kept {
    absl::string_view flag;
    int64_t* ms;
  };
  RetentionPolicy& policy = server.retention;
  for (const Kept& kept : {Kept{"keep-succeeded", &policy.succeeded_ms},
                           Kept{"keep-failed", &policy.failed_ms},
                           Kept{"keep-cancelled", &policy.cancelled_ms},
                           Kept{"keep-results", &policy.results_ms},
                           Kept{"keep-unused", &policy.unused_ms}}) {
    QB_RETURN_IF_ERROR(ReadMs(flags, kept.flag, absl::Seconds(1), kTenYears, *kept.ms));
  }
  QB_RETURN_IF_ERROR(ReadMs(flags, "collect-interval", absl::Milliseconds(100), kDay,
                            server.collect_interval_ms));
  QB_ASSIGN_OR_RETURN(const int min_free_mib, flags.GetInt("min-free-mib", 0, 1, 1 << 30));
  server.min_free_bytes = int64_t{min_free_mib} << 20;
  return absl::OkStatus();
}

absl::Status ReadNumbers(const ParsedFlags& flags, ServerFlags& out) {
  ServerOptions& server = out.server;
  QB_ASSIGN_OR_RETURN(out.local_workers, flags.GetInt("local-workers", 0, 0, kMaxLocalWorkers));
  QB_RETURN_IF_ERROR(
      ReadMs(flags, "lease-ttl", absl::Milliseconds(100), kDay, server.dispatch.lease_ttl_ms));
  QB_RETURN_IF_ERROR(ReadMs(flags, "cancel-grace", absl::Milliseconds(100), kDay,
                            server.dispatch.cancel_grace_ms));
  QB_RETURN_IF_ERROR(ReadMs(flags, "retry-base", absl::Milliseconds(1), absl::Seconds(60),
                            server.store.retry.base_wait_ms));
  QB_ASSIGN_OR_RETURN(server.store.retry.max_losses, flags.GetInt("max-losses", 5, 0, 1000));
  if (server.require_credentials) {
    server.tenant_limits = SharedServerLimits();
  }
  QB_ASSIGN_OR_RETURN(server.tenant_limits.max_queued_jobs,
                      flags.GetInt("max-queued-jobs", 10'000, 1, 10'000'000));
  QB_RETURN_IF_ERROR(ReadRetention(flags, server));
  server.limits_file = flags.Has("limits") ? Absolute(flags.Get("limits")) : "";
  int64_t max_delay_ms = absl::ToInt64Milliseconds(server.overload.max_delay);
  QB_RETURN_IF_ERROR(
      ReadMs(flags, "max-delay", absl::Milliseconds(10), absl::Seconds(60), max_delay_ms));
  server.overload.max_delay = absl::Milliseconds(max_delay_ms);
  return absl::OkStatus();
}

absl::Status ReadAccess(const ParsedFlags& flags, ServerOptions& server) {
  const std::string how = flags.Has("auth")                          ? flags.Get("auth")
                          : absl::StartsWith(server.listen, "unix:") ? "none"
                                                                     : "required";
  if (how != "none" && how != "required") {
    return absl::InvalidArgumentError(
        absl::StrCat("--auth: '", how, "': expected none or required"));
  }
  server.require_credentials = how == "required";
  server.tls.certificate_chain = flags.Get("tls-cert");
  server.tls.private_key = flags.Get("tls-key");
  server.tls.client_ca = flags.Get("tls-client-ca");
  if (flags.Has("tls-cert") != flags.Has("tls-key")) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key: expected both or neither");
  }
  if (flags.Has("tls-client-ca") && !flags.Has("tls-cert")) {
    return absl::InvalidArgumentError("--tls-client-ca: needs --tls-cert and --tls-key");
  }
  server.worker_listen = flags.Get("worker-listen");
  server.worker_client_ca = flags.Get("worker-client-ca");
  if (!server.require_credentials &&
      (flags.Has("worker-listen") || flags.Has("worker-client-ca"))) {
    return absl::InvalidArgumentError("--worker-listen: needs --auth required");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ServerFlags> ParseServerFlags(absl::Span<const std::string> arguments,
                                             const std::string& own_folder) {
  QB_ASSIGN_OR_RETURN(const ParsedFlags flags, ParseFlags(kFlags, arguments));
  ServerFlags out;
  out.help = flags.Has("help");
  out.version = flags.Has("version");
  if (out.help || out.version) {
    return out;
  }
  if (!flags.positionals().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", flags.positionals()[0], "': expected flags only; see --help"));
  }
  if (flags.Get("data-dir").empty()) {
    return absl::InvalidArgumentError("--data-dir: expected the folder that holds the jobs");
  }
  out.server.data_dir = Absolute(flags.Get("data-dir"));
  out.server.listen = flags.Has("listen") ? flags.Get("listen")
                                          : absl::StrCat("unix:", out.server.data_dir, "/qbc.sock");
  QB_RETURN_IF_ERROR(ReadAccess(flags, out.server));
  out.server.targets = BuiltInTargets();
  if (flags.Has("targets")) {
    out.server.targets = absl::StrSplit(flags.Get("targets"), ',', absl::SkipEmpty());
    if (out.server.targets.empty()) {
      return absl::InvalidArgumentError("--targets: expected names, comma separated");
    }
  }
  out.server.store.seed = std::random_device()();
  QB_RETURN_IF_ERROR(ReadNumbers(flags, out));
  out.worker_binary = flags.Has("worker-binary") ? Absolute(flags.Get("worker-binary"))
                                                 : absl::StrCat(own_folder, "/qbc-worker");
  out.compiler_binary = flags.Has("compiler-binary") ? Absolute(flags.Get("compiler-binary"))
                                                     : absl::StrCat(own_folder, "/qbcompiler");
  out.port_file = flags.Get("port-file");
  out.server.http_listen = flags.Get("http-listen");
  out.http_port_file = flags.Get("http-port-file");
  if (!out.http_port_file.empty() && out.server.http_listen.empty()) {
    return absl::InvalidArgumentError("--http-port-file: expected --http-listen beside it");
  }
  return out;
}

std::string ServerUsage() {
  return absl::StrCat(
      "Usage: qbc-server --data-dir DIR [flags]\n"
      "       qbc-server token create|list|revoke --data-dir DIR [flags]\n\n"
      "The server of the compile service. SIGTERM ends it in order: exit code 0.\n\n",
      FormatFlags(kFlags, 100));
}

}  // namespace qb::server

#include "server/server_flags.h"

#include <array>
#include <filesystem>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "core/base/flags.h"
#include "core/base/status_macros.h"
#include "server/rpc/listen_address.h"

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
     "New jobs are refused while the server is more than this behind. 10ms to 60s, default 500ms."},
    {"drain-delay", 0, FlagKind::kValue, "DURATION",
     "After SIGTERM: how long the server goes on for those who have not noticed yet, while its "
     "health says that it is going and new jobs are refused. 0 to 10m. Default: 5s; 0 on a unix "
     "socket and on 127.0.0.1."},
    {"log-format", 0, FlagKind::kValue, "FORMAT",
     "Of the lines on standard error: text (default), or json, one object a line."},
    {"check-config", 0, FlagKind::kSwitch, "",
     "Look at flags, files, folders and the database, say everything that is wrong, and exit: 0 "
     "when the server could start, 2 when not. Changes nothing; a server may be running."},
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

// Collects what is wrong with several flags.
class Problems {
 public:
  void Note(const absl::Status& status) {
    if (!status.ok()) {
      texts_.push_back(std::string(status.message()));
    }
  }
  template <typename T>
  void Take(absl::StatusOr<T> value, T& out) {
    Note(value.status());
    if (value.ok()) {
      out = *std::move(value);
    }
  }
  absl::Status ToStatus() const {
    return texts_.empty() ? absl::OkStatus()
                          : absl::InvalidArgumentError(absl::StrJoin(texts_, "\n"));
  }

 private:
  std::vector<std::string> texts_;
};

void ReadRetention(const ParsedFlags& flags, ServerOptions& server, Problems& problems) {
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
    problems.Note(ReadMs(flags, kept.flag, absl::Seconds(1), kTenYears, *kept.ms));
  }
  problems.Note(ReadMs(flags, "collect-interval", absl::Milliseconds(100), kDay,
                       server.collect_interval_ms));
  int min_free_mib = 0;
  problems.Take(flags.GetInt("min-free-mib", 0, 1, 1 << 30), min_free_mib);
  server.min_free_bytes = int64_t{min_free_mib} << 20;
}

void ReadNumbers(const ParsedFlags& flags, ServerFlags& out, Problems& problems) {
  ServerOptions& server = out.server;
  problems.Take(flags.GetInt("local-workers", 0, 0, kMaxLocalWorkers), out.local_workers);
  problems.Note(
      ReadMs(flags, "lease-ttl", absl::Milliseconds(100), kDay, server.dispatch.lease_ttl_ms));
  problems.Note(ReadMs(flags, "cancel-grace", absl::Milliseconds(100), kDay,
                       server.dispatch.cancel_grace_ms));
  problems.Note(ReadMs(flags, "retry-base", absl::Milliseconds(1), absl::Seconds(60),
                       server.store.retry.base_wait_ms));
  problems.Take(flags.GetInt("max-losses", 5, 0, 1000), server.store.retry.max_losses);
  if (server.require_credentials) {
    server.tenant_limits = SharedServerLimits();
  }
  int max_queued = 10'000;
  problems.Take(flags.GetInt("max-queued-jobs", max_queued, 1, 10'000'000), max_queued);
  server.tenant_limits.max_queued_jobs = max_queued;
  ReadRetention(flags, server, problems);
  server.limits_file = flags.Has("limits") ? Absolute(flags.Get("limits")) : "";
  int64_t max_delay_ms = absl::ToInt64Milliseconds(server.overload.max_delay);
  problems.Note(
      ReadMs(flags, "max-delay", absl::Milliseconds(10), absl::Seconds(60), max_delay_ms));
  server.overload.max_delay = absl::Milliseconds(max_delay_ms);
}

void ReadAccess(const ParsedFlags& flags, ServerOptions& server, Problems& problems) {
  const std::string how = flags.Has("auth")                          ? flags.Get("auth")
                          : absl::StartsWith(server.listen, "unix:") ? "none"
                                                                     : "required";
  if (how != "none" && how != "required") {
    problems.Note(
        absl::InvalidArgumentError(absl::StrCat("--auth: '", how, "': expected none or required")));
  }
  server.require_credentials = how == "required";
  server.tls.certificate_chain = flags.Get("tls-cert");
  server.tls.private_key = flags.Get("tls-key");
  server.tls.client_ca = flags.Get("tls-client-ca");
  if (flags.Has("tls-cert") != flags.Has("tls-key")) {
    problems.Note(absl::InvalidArgumentError("--tls-cert and --tls-key: expected both or neither"));
  }
  if (flags.Has("tls-client-ca") && !flags.Has("tls-cert")) {
    problems.Note(absl::InvalidArgumentError("--tls-client-ca: needs --tls-cert and --tls-key"));
  }
  server.worker_listen = flags.Get("worker-listen");
  server.worker_client_ca = flags.Get("worker-client-ca");
  if (!server.require_credentials &&
      (flags.Has("worker-listen") || flags.Has("worker-client-ca"))) {
    problems.Note(absl::InvalidArgumentError("--worker-listen: needs --auth required"));
  }
}

absl::StatusOr<absl::Duration> DrainDelay(const ParsedFlags& flags, const std::string& listen) {
  if (!flags.Has("drain-delay")) {
    const absl::StatusOr<ListenAddress> address = ParseListenAddress("--listen", listen);
    const bool beyond = address.ok() && address->unix_path.empty() && !address->loopback;
    return beyond ? absl::Seconds(5) : absl::ZeroDuration();
  }
  const std::string text = flags.Get("drain-delay");
  if (text == "0" || text == "0s") {
    return absl::ZeroDuration();
  }
  int64_t ms = 0;
  QB_RETURN_IF_ERROR(ReadMs(flags, "drain-delay", absl::Milliseconds(1), absl::Minutes(10), ms));
  return absl::Milliseconds(ms);
}

void ReadTargets(const ParsedFlags& flags, ServerOptions& server, Problems& problems) {
  server.targets = BuiltInTargets();
  if (flags.Has("targets")) {
    server.targets = absl::StrSplit(flags.Get("targets"), ',', absl::SkipEmpty());
    if (server.targets.empty()) {
      problems.Note(absl::InvalidArgumentError("--targets: expected names, comma separated"));
    }
  }
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
  Problems problems;
  if (flags.Get("data-dir").empty()) {
    problems.Note(
        absl::InvalidArgumentError("--data-dir: expected the folder that holds the jobs"));
  } else {
    out.server.data_dir = Absolute(flags.Get("data-dir"));
  }
  out.check_config = flags.Has("check-config");
  out.server.listen = flags.Has("listen") ? flags.Get("listen")
                                          : absl::StrCat("unix:", out.server.data_dir, "/qbc.sock");
  ReadAccess(flags, out.server, problems);
  ReadTargets(flags, out.server, problems);
  out.server.store.seed = std::random_device()();
  ReadNumbers(flags, out, problems);
  problems.Take(DrainDelay(flags, out.server.listen), out.drain_delay);
  problems.Take(
      ParseLogFormat("--log-format", flags.Has("log-format") ? flags.Get("log-format") : "text"),
      out.log_format);
  out.worker_binary = flags.Has("worker-binary") ? Absolute(flags.Get("worker-binary"))
                                                 : absl::StrCat(own_folder, "/qbc-worker");
  out.compiler_binary = flags.Has("compiler-binary") ? Absolute(flags.Get("compiler-binary"))
                                                     : absl::StrCat(own_folder, "/qbcompiler");
  out.port_file = flags.Get("port-file");
  out.server.http_listen = flags.Get("http-listen");
  out.http_port_file = flags.Get("http-port-file");
  if (!out.http_port_file.empty() && out.server.http_listen.empty()) {
    problems.Note(absl::InvalidArgumentError("--http-port-file: expected --http-listen beside it"));
  }
  QB_RETURN_IF_ERROR(problems.ToStatus());
  return out;
}

std::string ServerUsage() {
  return absl::StrCat(
      "Usage: qbc-server --data-dir DIR [flags]\n"
      "       qbc-server --check-config --data-dir DIR [flags]\n"
      "       qbc-server token create|list|revoke --data-dir DIR [flags]\n"
      "       qbc-server backup --data-dir DIR --output DIR\n"
      "       qbc-server doctor [--data-dir DIR] [flags]\n\n"
      "The server of the compile service. SIGTERM ends it in order, with exit code 0; a second one "
      "at once.\n\n",
      FormatFlags(kFlags, 100));
}

}  // namespace qb::server

// The command line of qbc-server.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "core/base/log_line.h"
#include "server/build_server.h"

namespace qb::server {

struct ServerFlags {
  bool help = false;
  bool version = false;
  bool check_config = false;
  ServerOptions server;  // without version, log and on_fatal
  int local_workers = 0;
  std::string worker_binary;    // absolute
  std::string compiler_binary;  // absolute
  std::string port_file;        // "": none
  std::string http_port_file;   // "": none
  // Between the signal to end and the end. Default: 0 on a unix socket and on this machine's own
  // addresses, where nobody balances load; 5 s elsewhere.
  absl::Duration drain_delay;
  LogFormat log_format = LogFormat::kText;
};

// `arguments` without the program's name; `own_folder` is where the program lies, without a slash
// at its end: qbc-worker and qbcompiler are looked for there. Errors: InvalidArgument with a line
// for each flag that is wrong: its name, what was found and what it accepts.
absl::StatusOr<ServerFlags> ParseServerFlags(absl::Span<const std::string> arguments,
                                             const std::string& own_folder);

// What --help prints.
std::string ServerUsage();

}  // namespace qb::server

// The command line of qbc-server.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "server/build_server.h"

namespace qb::server {

struct ServerFlags {
  bool help = false;
  bool version = false;
  ServerOptions server;  // without version, log and on_fatal
  int local_workers = 0;
  std::string worker_binary;    // absolute
  std::string compiler_binary;  // absolute
  std::string port_file;        // "": none
  std::string http_port_file;   // "": none
};

// `arguments` without the program's name; `own_folder` is where the program lies, without a slash
// at its end: qbc-worker and qbcompiler are looked for there. Errors: InvalidArgument that names
// the flag and what it accepts.
absl::StatusOr<ServerFlags> ParseServerFlags(absl::Span<const std::string> arguments,
                                             const std::string& own_folder);

// What --help prints.
std::string ServerUsage();

}  // namespace qb::server

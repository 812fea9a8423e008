// The command line of qbc-worker.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "core/base/log_line.h"

namespace qb::worker {

struct AgentFlags {
  std::string server;
  std::string work_dir;
  std::string token_file;  // "": none
  std::string tls_ca;      // PEM files, "": none
  std::string tls_cert;
  std::string tls_key;
  std::string compiler_binary = "qbcompiler";
  std::string worker_id;  // default: <host>-<hash of the work folder>, stable over restarts
  int slots = 1;
  int threads_per_job = 0;  // 0: the CPUs divided by the slots, at least 1
  absl::Duration kill_grace = absl::Seconds(10);
  std::string sandbox = "auto";  // or "off"
  bool require_sandbox = false;
  std::string sandbox_binary;  // "": qbc-sandbox beside this program
  int64_t memory_limit = 0;    // bytes of an attempt, 0: none
  int64_t scratch_limit = int64_t{64} << 30;
  absl::Duration cpu_limit = absl::InfiniteDuration();
  std::string gpus = "auto";  // see MakeGpuInventory
  absl::Duration gpu_check = absl::Seconds(30);
  LogFormat log_format = LogFormat::kText;
  bool doctor = false;
  bool help = false;
  bool version = false;
};

// `arguments` without the program's name; "--name value" and "--name=value".
// Errors: InvalidArgument that names the flag and what it accepts.
absl::StatusOr<AgentFlags> ParseAgentFlags(absl::Span<const char* const> arguments);

// What --help prints.
absl::string_view AgentUsage();

}  // namespace qb::worker

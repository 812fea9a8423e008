#include "worker/agent/agent_flags.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "core/base/status_macros.h"

namespace qb::worker {
namespace {

absl::Status ParseCount(absl::string_view name, const std::string& text, int least, int most,
                        int& value) {
  if (!absl::SimpleAtoi(text, &value) || value < least || value > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " '", text, "': accepted are ", least, " to ", most));
  }
  return absl::OkStatus();
}

absl::Status ParseShortDuration(absl::string_view name, const std::string& text,
                                absl::Duration& value) {
  if (!absl::ParseDuration(text, &value) || value < absl::ZeroDuration() ||
      value > absl::Hours(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " '", text, "': accepted are durations like 500ms or 10s, up to 1h"));
  }
  return absl::OkStatus();
}

// "4096", "512M", "8G": in powers of 1024.
absl::Status ParseBytes(absl::string_view name, const std::string& text, int64_t& value) {
  absl::string_view digits = text;
  int64_t unit = 1;
  for (const auto& [letter, bytes] : {std::pair<const char*, int64_t>{"K", int64_t{1} << 10},
                                      {"M", int64_t{1} << 20},
                                      {"G", int64_t{1} << 30},
                                      {"T", int64_t{1} << 40}}) {
    if (absl::ConsumeSuffix(&digits, letter)) {
      unit = bytes;
      break;
    }
  }
  if (!absl::SimpleAtoi(digits, &value) || value < 1 || value > (int64_t{1} << 50) / unit) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " '", text, "': accepted are bytes, or a number with K, M, G or T, up to 1024T"));
  }
  value *= unit;
  return absl::OkStatus();
}

bool IsWorkerIdChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

// The flags that are taken as they are.
std::string* TextOf(absl::string_view name, AgentFlags& flags) {
  const std::array<std::pair<absl::string_view, std::string*>, 11> texts = {{
      {"--server", &flags.server},
      {"--work-dir", &flags.work_dir},
      {"--token-file", &flags.token_file},
      {"--tls-ca", &flags.tls_ca},
      {"--tls-cert", &flags.tls_cert},
      {"--tls-key", &flags.tls_key},
      {"--compiler-binary", &flags.compiler_binary},
      {"--worker-id", &flags.worker_id},
      {"--gpus", &flags.gpus},
      {"--sandbox", &flags.sandbox},
      {"--sandbox-binary", &flags.sandbox_binary},
  }};
  for (const auto& [known, text] : texts) {
    if (known == name) {
      return text;
    }
  }
  return nullptr;
}

absl::Status SetFlag(absl::string_view name, const std::string& value, AgentFlags& flags) {
  if (std::string* text = TextOf(name, flags); text != nullptr) {
    *text = value;
  } else if (name == "--log-format") {
    QB_ASSIGN_OR_RETURN(flags.log_format, ParseLogFormat(name, value));
  } else if (name == "--slots") {
    return ParseCount(name, value, 1, 256, flags.slots);
  } else if (name == "--threads-per-job") {
    return ParseCount(name, value, 0, 256, flags.threads_per_job);
  } else if (name == "--gpu-check") {
    return ParseShortDuration(name, value, flags.gpu_check);
  } else if (name == "--memory-limit") {
    return ParseBytes(name, value, flags.memory_limit);
  } else if (name == "--scratch-limit") {
    return ParseBytes(name, value, flags.scratch_limit);
  } else if (name == "--cpu-limit") {
    if (!absl::ParseDuration(value, &flags.cpu_limit) || flags.cpu_limit < absl::Seconds(1)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " '", value, "': accepted are durations of at least 1s, like 30m"));
    }
  } else if (name == "--kill-grace") {
    return ParseShortDuration(name, value, flags.kill_grace);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("unknown flag '", name, "'; see --help"));
  }
  return absl::OkStatus();
}

absl::Status CheckFlags(const AgentFlags& flags) {
  if (flags.server.empty() || flags.work_dir.empty()) {
    return absl::InvalidArgumentError("--server and --work-dir are needed; see --help");
  }
  if (flags.sandbox != "auto" && (flags.sandbox != "off" || flags.require_sandbox)) {
    return absl::InvalidArgumentError(absl::StrCat("--sandbox '", flags.sandbox,
                                                   "': accepted are auto and, without "
                                                   "--require-sandbox, off"));
  }
  if (flags.tls_cert.empty() != flags.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key: expected both or neither");
  }
  const std::string& id = flags.worker_id;
  if (id.size() > 64 || !std::all_of(id.begin(), id.end(), IsWorkerIdChar)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--worker-id '", id, "': accepted are 1 to 64 of A-Z a-z 0-9 _ . -"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AgentFlags> ParseAgentFlags(absl::Span<const char* const> arguments) {
  AgentFlags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view name = arguments[i];
    if (name == "--help" || name == "-h") {
      flags.help = true;
      return flags;
    }
    if (name == "--doctor") {
      flags.doctor = true;
      return flags;
    }
    if (name == "--require-sandbox") {
      flags.require_sandbox = true;
      continue;
    }
    if (name == "--version") {
      flags.version = true;
      return flags;
    }
    std::string value;
    if (const size_t equals = name.find('='); equals != absl::string_view::npos) {
      value = std::string(name.substr(equals + 1));
      name = name.substr(0, equals);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return absl::InvalidArgumentError(absl::StrCat("flag '", name, "' needs a value"));
    }
    QB_RETURN_IF_ERROR(SetFlag(name, value, flags));
  }
  QB_RETURN_IF_ERROR(CheckFlags(flags));
  return flags;
}

absl::string_view AgentUsage() {
  return R"(qbc-worker - takes compile jobs from a qbc-server and runs them, one process each

  --server ADDRESS        unix:/path or host:port where the server takes workers (needed); TLS is used
                          for every host but this machine, and there too with --tls-ca
  --tls-ca FILE           whose certificates the server may have, PEM (default: the system's)
  --tls-cert FILE, --tls-key FILE
                          certificate of this worker and its private key, PEM
  --token-file FILE       token of this worker (qbc-server token create --worker); mode 0600
  --work-dir FOLDER       scratch space of this agent alone (needed)
  --compiler-binary FILE  the compile process (default: qbcompiler beside this program, else on PATH)
  --slots N               compiles at a time (default 1)
  --threads-per-job T     threads of a compile that asks for no number (default: CPUs / slots)
  --worker-id NAME        stable name of this worker (default: from host and work folder)
  --gpus LIST             GPUs, each for one compile at a time: names as CUDA_VISIBLE_DEVICES takes
                          them, with commas; none; file:PATH with one a line, read again now and
                          then; auto asks nvidia-smi (default)
  --gpu-check DURATION    how often the GPUs are looked for (default 30s)
  --kill-grace DURATION   between SIGTERM and SIGKILL of a compile (default 10s)
  --sandbox HOW           auto: every layer that this machine has (default); off
  --require-sandbox       do not start when a layer of the sandbox or a control group is missing
  --sandbox-binary FILE   default: qbc-sandbox beside this program
  --memory-limit BYTES    of a compile that asks for none, e.g. 8G (default: none)
  --scratch-limit BYTES   likewise, of its folder (default 64G)
  --cpu-limit DURATION    CPU time of a compile (default: none)
  --log-format FORMAT     of the lines on standard error: text (default), or json, one object a line
  --doctor                try each layer of the sandbox and the control groups, say which work, exit
                          with 1 when one does not
  --version, --help

SIGTERM or SIGINT ends the compiles, gives their jobs back to the server and exits; a second signal
exits at once.
)";
}

}  // namespace qb::worker

#include "worker/agent/agent_flags.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

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

bool IsWorkerIdChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

absl::Status SetFlag(absl::string_view name, const std::string& value, AgentFlags& flags) {
  if (name == "--server") {
    flags.server = value;
  } else if (name == "--work-dir") {
    flags.work_dir = value;
  } else if (name == "--compiler-binary") {
    flags.compiler_binary = value;
  } else if (name == "--worker-id") {
    flags.worker_id = value;
  } else if (name == "--slots") {
    return ParseCount(name, value, 1, 256, flags.slots);
  } else if (name == "--threads-per-job") {
    return ParseCount(name, value, 0, 256, flags.threads_per_job);
  } else if (name == "--gpus") {
    flags.gpus = value;
  } else if (name == "--gpu-check") {
    return ParseShortDuration(name, value, flags.gpu_check);
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

  --server ADDRESS        unix:/path or 127.0.0.1:port of the server (needed)
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
  --version, --help

SIGTERM or SIGINT ends the compiles, gives their jobs back to the server and exits; a second signal
exits at once.
)";
}

}  // namespace qb::worker

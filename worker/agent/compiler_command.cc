#include "worker/agent/compiler_command.h"

#include <cstdlib>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "worker/agent/attempt_directory.h"
#include "worker/agent/stray_processes.h"

namespace qb::worker {
namespace {

absl::Status AddManifest(const v1::Manifest& manifest, const std::string& folder,
                         std::set<std::string>& seen, std::vector<InputFile>& files) {
  for (const v1::ManifestEntry& entry : manifest.entries()) {
    QB_RETURN_IF_ERROR(CheckManifestPath(entry.path()));
    const std::string path = absl::StrCat(folder, "/", entry.path());
    if (!seen.insert(path).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("manifest path '", entry.path(), "' occurs twice"));
    }
    files.push_back({entry, path});
  }
  return absl::OkStatus();
}

// The path that the compiler is pointed at: the main entry, or the folder.
absl::StatusOr<std::string> MainPath(const v1::Manifest& manifest, const std::string& folder) {
  if (manifest.main().empty()) {
    return folder;
  }
  QB_RETURN_IF_ERROR(CheckManifestPath(manifest.main()));
  return absl::StrCat(folder, "/", manifest.main());
}

struct Command {
  std::string word;
  std::string input_flag;
};

absl::StatusOr<Command> CommandOf(v1::JobKind kind) {
  switch (kind) {
    case v1::JOB_KIND_UNSPECIFIED:
    case v1::JOB_KIND_COMPILE:
      return Command{"compile", "--model"};
    case v1::JOB_KIND_PARSE:
      return Command{"parse", "--model"};
    case v1::JOB_KIND_QUANTIZE:
      return Command{"quantize", "--mblt"};
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("job kind ", static_cast<int>(kind), " is not known to this worker"));
  }
}

// What the compiler may see of our environment: where its libraries are and how it is instrumented.
std::vector<std::string> BuildEnvironment(const std::string& attempt_dir, int threads,
                                          const std::vector<std::string>& gpus) {
  std::vector<std::string> env = {
      "QBCOMPILER_JSONL=1",
      absl::StrCat("OMP_NUM_THREADS=", threads),
      absl::StrCat("HOME=", attempt_dir, "/tmp"),
      absl::StrCat("TMPDIR=", attempt_dir, "/tmp"),
      absl::StrCat(kAttemptDirVariable, "=", attempt_dir),
      // Also when there are none: a process must not help itself to another one's.
      absl::StrCat("CUDA_VISIBLE_DEVICES=", absl::StrJoin(gpus, ",")),
  };
  for (const char* name : {"PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "ASAN_OPTIONS",
                           "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name); value != nullptr) {
      env.push_back(absl::StrCat(name, "=", value));
    }
  }
  return env;
}

}  // namespace

absl::StatusOr<std::vector<InputFile>> PlanInputs(const v1::Assignment& assignment) {
  std::vector<InputFile> files;
  std::set<std::string> seen;
  QB_RETURN_IF_ERROR(AddManifest(assignment.model(), "model", seen, files));
  for (int i = 0; i < assignment.calibration_size(); ++i) {
    QB_RETURN_IF_ERROR(
        AddManifest(assignment.calibration(i), absl::StrCat("calib/", i), seen, files));
  }
  QB_RETURN_IF_ERROR(AddManifest(assignment.evaluation(), "eval", seen, files));
  return files;
}

std::string MainOutput(v1::JobKind kind) {
  return kind == v1::JOB_KIND_PARSE ? "model.mblt" : "model.mxq";
}

absl::StatusOr<ChildOptions> BuildCommand(const v1::Assignment& assignment,
                                          const std::string& compiler_binary,
                                          const std::string& attempt_dir, int default_threads,
                                          const std::vector<std::string>& gpus) {
  QB_ASSIGN_OR_RETURN(const Command command, CommandOf(assignment.kind()));
  ChildOptions options;
  options.working_dir = attempt_dir;
  std::vector<std::string>& argv = options.argv;
  QB_ASSIGN_OR_RETURN(const std::string model, MainPath(assignment.model(), "model"));
  argv = {compiler_binary,    command.word,
          command.input_flag, model,
          "--output",         absl::StrCat(kOutputFolder, "/", MainOutput(assignment.kind()))};
  if (assignment.kind() != v1::JOB_KIND_PARSE) {
    argv.insert(argv.end(), {"--report-dir", kOutputFolder});
  }
  for (int i = 0; i < assignment.calibration_size(); ++i) {
    QB_ASSIGN_OR_RETURN(const std::string path,
                        MainPath(assignment.calibration(i), absl::StrCat("calib/", i)));
    argv.insert(argv.end(), {"--calib-data-path", path});
  }
  if (!assignment.config_text().empty()) {
    argv.insert(argv.end(), {"--compile-config", kConfigFile});
  }
  if (assignment.evaluation().entries_size() > 0) {
    QB_ASSIGN_OR_RETURN(const std::string path, MainPath(assignment.evaluation(), "eval"));
    argv.insert(argv.end(), {"--eval-data", path});
  }
  if (!assignment.evaluation_labels().empty()) {
    QB_RETURN_IF_ERROR(CheckManifestPath(assignment.evaluation_labels()));
    argv.insert(argv.end(),
                {"--eval-labels", absl::StrCat("eval/", assignment.evaluation_labels())});
  }
  bool has_threads = false;
  for (const std::string& flag : assignment.compiler_flags()) {
    has_threads = has_threads || flag == "--threads" || absl::StartsWith(flag, "--threads=");
    argv.push_back(flag);
  }
  const int threads = assignment.threads() > 0 ? assignment.threads() : default_threads;
  if (!has_threads) {
    argv.insert(argv.end(), {"--threads", absl::StrCat(threads)});
  }
  options.env = BuildEnvironment(attempt_dir, threads, gpus);
  if (!assignment.traceparent().empty()) {
    options.env.push_back(absl::StrCat("TRACEPARENT=", assignment.traceparent()));
  }
  return options;
}

}  // namespace qb::worker

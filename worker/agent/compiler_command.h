// From an assignment to the command line of qbcompiler.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/failure.h"
#include "proto/qbc/v1/worker_service.pb.h"
#include "worker/agent/child_process.h"

namespace qb::worker {

namespace v1 = ::qbc::v1;

struct InputFile {
  v1::ManifestEntry entry;
  std::string relative_path;  // beneath the attempt's folder
};

// Where each input of the assignment goes: model/<path>, calib/<n>/<path>, eval/<path>.
// Errors: InvalidArgument for an unacceptable or repeated path.
absl::StatusOr<std::vector<InputFile>> PlanInputs(const v1::Assignment& assignment);

inline constexpr char kConfigFile[] = "config.yaml";
inline constexpr char kOutputFolder[] = "out";
// "model.mxq", or "model.mblt" for a parse.
std::string MainOutput(v1::JobKind kind);

// The whole command. Paths are relative to the attempt's folder, in which the process runs, so that
// its messages name the user's files and not the worker's folders. `default_threads` applies when
// the job asks for no number. The process sees `gpus` and no other.
// Errors: InvalidArgument for an assignment that this agent does not understand.
absl::StatusOr<ChildOptions> BuildCommand(const v1::Assignment& assignment,
                                          const std::string& compiler_binary,
                                          const std::string& attempt_dir, int default_threads,
                                          const std::vector<std::string>& gpus = {});

}  // namespace qb::worker

#include "worker/agent/compiler_binary.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "core/base/status_macros.h"
#include "worker/agent/child_runner.h"
#include "worker/agent/jsonl.h"

namespace qb::worker {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxVersionBytes = 100;

std::string OwnFolder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

class FirstLine final : public ChildOutput {
 public:
  void OnStdout(absl::string_view bytes) override {
    if (text_.size() < 4096) {
      text_.append(bytes.data(), bytes.size());
    }
  }
  void OnStderr(absl::string_view) override {}
  std::string Line() const {
    const std::vector<std::string> lines = absl::StrSplit(text_, '\n');
    return CleanText(absl::StripAsciiWhitespace(lines[0]), kMaxVersionBytes);
  }

 private:
  std::string text_;
};

}  // namespace

absl::StatusOr<std::string> FindCompilerBinary(const std::string& name) {
  std::vector<std::string> candidates;
  if (absl::StrContains(name, '/')) {
    candidates.push_back(name);
  } else {
    candidates.push_back(absl::StrCat(OwnFolder(), "/", name));
    const char* path = std::getenv("PATH");
    for (const absl::string_view folder :
         absl::StrSplit(path != nullptr ? path : "", ':', absl::SkipEmpty())) {
      candidates.push_back(absl::StrCat(folder, "/", name));
    }
  }
  for (const std::string& candidate : candidates) {
    std::error_code error;
    if (fs::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0) {
      return fs::absolute(candidate).string();
    }
  }
  return absl::NotFoundError(absl::StrCat("no compile program '", name, "'; looked for ",
                                          absl::StrJoin(candidates, ", ")));
}

absl::StatusOr<std::string> QueryCompilerBuild(const std::string& binary) {
  ChildOptions options;
  options.argv = {binary, "--version"};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name); value != nullptr) {
      options.env.push_back(absl::StrCat(name, "=", value));
    }
  }
  options.working_dir = "/";
  RunLimits limits;
  limits.run_timeout = absl::Seconds(20);
  limits.kill_grace = absl::ZeroDuration();
  FirstLine output;
  StopSignal stop;
  QB_ASSIGN_OR_RETURN(const ExitReport exit, ProcessRunner().Run(options, limits, output, stop));
  const std::string line = output.Line();
  const bool ok = exit.kind == ExitReport::Kind::kExited && exit.exit_code == 0 && !line.empty();
  return ok ? line : "unknown";
}

}  // namespace qb::worker

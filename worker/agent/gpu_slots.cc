#include "worker/agent/gpu_slots.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "core/base/file_map.h"
#include "core/base/status_macros.h"
#include "worker/agent/child_runner.h"
#include "worker/agent/compiler_binary.h"

namespace qb::worker {
namespace {

constexpr size_t kMaxGpus = 64;
constexpr size_t kMaxListBytes = 64 << 10;

bool IsGpuName(absl::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == ':' ||
           c == '.';
  });
}

absl::StatusOr<std::vector<std::string>> CheckNames(std::vector<std::string> names,
                                                    absl::string_view where) {
  for (const std::string& name : names) {
    if (!IsGpuName(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": '", name, "': accepted are 1 to 128 of A-Z a-z 0-9 - _ : ."));
    }
  }
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end() || names.size() > kMaxGpus) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": accepted are up to ", kMaxGpus, " names, each once"));
  }
  return names;
}

std::vector<std::string> Lines(absl::string_view text) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) {
      lines.emplace_back(line);
    }
  }
  return lines;
}

class Text final : public ChildOutput {
 public:
  void OnStdout(absl::string_view bytes) override {
    bytes = bytes.substr(0, kMaxListBytes - std::min(kMaxListBytes, text_.size()));
    text_.append(bytes.data(), bytes.size());
  }
  void OnStderr(absl::string_view) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::StatusOr<std::vector<std::string>> AskNvidiaSmi(const std::string& program) {
  ChildOptions options;
  options.argv = {program, "--query-gpu=uuid", "--format=csv,noheader"};
  if (const char* path = std::getenv("PATH"); path != nullptr) {
    options.env.push_back(absl::StrCat("PATH=", path));
  }
  options.working_dir = "/";
  RunLimits limits;
  limits.run_timeout = absl::Seconds(20);
  limits.kill_grace = absl::ZeroDuration();
  Text output;
  StopSignal stop;
  QB_ASSIGN_OR_RETURN(const ExitReport exit, ProcessRunner().Run(options, limits, output, stop));
  if (exit.kind != ExitReport::Kind::kExited || exit.exit_code != 0) {
    return absl::UnavailableError("nvidia-smi failed: no GPU is taken to work");
  }
  return CheckNames(ParseNvidiaSmi(output.text()), "nvidia-smi");
}

absl::StatusOr<std::vector<std::string>> ReadList(const std::string& path) {
  QB_ASSIGN_OR_RETURN(const FileMap file, FileMap::Open(path));
  return CheckNames(Lines(file.bytes().substr(0, kMaxListBytes)), path);
}

}  // namespace

std::vector<std::string> ParseNvidiaSmi(absl::string_view text) {
  std::vector<std::string> names = Lines(text);
  // Messages such as "No devices were found" stand where names are expected.
  names.erase(std::remove_if(names.begin(), names.end(),
                             [](const std::string& name) { return !IsGpuName(name); }),
              names.end());
  return names;
}

absl::StatusOr<GpuInventory> MakeGpuInventory(const std::string& flag) {
  if (flag == "auto") {
    const absl::StatusOr<std::string> program = FindCompilerBinary("nvidia-smi");
    if (!program.ok()) {
      return GpuInventory([] { return std::vector<std::string>(); });
    }
    return GpuInventory([program = *program] { return AskNvidiaSmi(program); });
  }
  absl::string_view path = flag;
  if (absl::ConsumePrefix(&path, "file:")) {
    return GpuInventory([path = std::string(path)] { return ReadList(path); });
  }
  std::vector<std::string> names;
  if (flag != "none" && !flag.empty()) {
    names = absl::StrSplit(flag, ',');
  }
  QB_ASSIGN_OR_RETURN(names, CheckNames(std::move(names), "--gpus"));
  return GpuInventory([names] { return names; });
}

GpuSlots::Change GpuSlots::Update(const std::vector<std::string>& names) {
  const std::set<std::string> now(names.begin(), names.end());
  Change change;
  absl::MutexLock lock(&mutex_);
  std::set_difference(working_.begin(), working_.end(), now.begin(), now.end(),
                      std::back_inserter(change.gone));
  std::set_difference(now.begin(), now.end(), working_.begin(), working_.end(),
                      std::back_inserter(change.come));
  working_ = now;
  return change;
}

absl::StatusOr<std::vector<std::string>> GpuSlots::Take(int count) {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> names;
  for (const std::string& name : working_) {
    if (static_cast<int>(names.size()) < count && !taken_.contains(name)) {
      names.push_back(name);
    }
  }
  if (static_cast<int>(names.size()) < count) {
    return absl::ResourceExhaustedError(
        absl::StrCat("GPUs: ", count, " wanted, ", names.size(), " free"));
  }
  taken_.insert(names.begin(), names.end());
  return names;
}

void GpuSlots::GiveBack(const std::vector<std::string>& names) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& name : names) {
    taken_.erase(name);
  }
}

std::vector<std::string> GpuSlots::Names() const {
  absl::MutexLock lock(&mutex_);
  return std::vector<std::string>(working_.begin(), working_.end());
}

}  // namespace qb::worker

#include "core/compiler/phases.h"

#include <fstream>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "core/base/status_macros.h"

namespace qb {

absl::Status Phases::Begin(absl::string_view stage) {
  QB_RETURN_IF_ERROR(cancel_.Check());
  OnStage(stage);
  return absl::OkStatus();
}

void Phases::OnStage(absl::string_view stage) {
  std::string ended;
  {
    absl::MutexLock lock(&mutex_);
    EndStage();
    if (!seconds_.empty()) {
      ended = absl::StrFormat("%s took %.3f s; peak memory so far %d MiB", seconds_.back().first,
                              seconds_.back().second, PeakMemoryBytes() >> 20);
    }
    seconds_.emplace_back(std::string(stage), 0.0);
  }
  if (!ended.empty()) {
    sink_.OnLog(LogLevel::kDebug, "phases", ended);
  }
  sink_.OnStage(stage);
}

void Phases::EndStage() {
  const absl::Time now = absl::Now();
  if (!seconds_.empty()) {
    seconds_.back().second += absl::ToDoubleSeconds(now - begun_);
  }
  begun_ = now;
}

Json Phases::Seconds() {
  absl::MutexLock lock(&mutex_);
  EndStage();
  Json json = Json::Object();
  for (const auto& [stage, seconds] : seconds_) {
    json.Set(stage, json[stage].as_double() + seconds);
  }
  return json;
}

int64_t PeakMemoryBytes() {
  // Not getrusage: its peak is passed on through exec, so that a large parent's counts as ours.
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) {
      return kibibytes * 1024;
    }
  }
  return 0;
}

}  // namespace qb

#include "worker/qbcompiler/reporter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/failure.h"

namespace qb::worker {
namespace {

// Progress lines beyond this rate tell nobody anything.
constexpr absl::Duration kProgressInterval = absl::Milliseconds(100);

std::string Timestamp(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

}  // namespace

void Reporter::Plan(std::vector<std::pair<std::string, double>> stages) {
  absl::MutexLock lock(&mutex_);
  stages_ = std::move(stages);
}

double Reporter::StageShare() const {
  for (const auto& [name, share] : stages_) {
    if (name == stage_) {
      return share;
    }
  }
  return 0;
}

void Reporter::Emit(absl::string_view type, const Json& fields) {
  Json line = Json::Object();
  line.Set("type", type).Set("seq", ++seq_).Set("ts", Timestamp(options_.now()));
  for (const auto& [key, value] : fields.members()) {
    line.Set(key, value);
  }
  const std::string text = line.Dump() + "\n";
  std::fwrite(text.data(), 1, text.size(), options_.answers);
  std::fflush(options_.answers);
}

void Reporter::ClearLine() {
  if (line_drawn_) {
    std::fputs("\r\033[K", options_.messages);
    line_drawn_ = false;
  }
}

void Reporter::OnStage(absl::string_view stage) {
  absl::MutexLock lock(&mutex_);
  if (started_ == absl::InfinitePast()) {
    started_ = options_.now();
  }
  finished_share_ += StageShare();
  fraction_ = std::max(fraction_, std::min(1.0, finished_share_));
  stage_ = std::string(stage);
  last_progress_ = absl::InfinitePast();
  if (options_.jsonl) {
    Emit("status", Json::Object().Set("state", "running").Set("stage", stage));
    return;
  }
  ClearLine();
  absl::FPrintF(options_.messages, "%s\n", stage);
}

void Reporter::OnProgress(int64_t done, int64_t total, absl::string_view unit) {
  absl::MutexLock lock(&mutex_);
  const double part =
      total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0;
  fraction_ = std::max(fraction_, std::min(1.0, finished_share_ + StageShare() * part));
  const absl::Time now = options_.now();
  if (done < total && now - last_progress_ < kProgressInterval) {
    return;
  }
  last_progress_ = now;
  const double elapsed_s = absl::ToDoubleSeconds(now - started_);
  const bool known = fraction_ > 0.02 && started_ != absl::InfinitePast();
  const double eta_s = known ? elapsed_s * (1 - fraction_) / fraction_ : 0;
  if (options_.jsonl) {
    Json fields = Json::Object();
    fields.Set("stage", stage_).Set("done", done).Set("total", total).Set("unit", unit);
    fields.Set("fraction", fraction_).Set("eta_s", known ? Json(eta_s) : Json());
    Emit("progress", fields);
  } else if (options_.progress_bar) {
    absl::FPrintF(options_.messages, "\r\033[K%s %d/%d %s  %.0f %%", stage_, done, total, unit,
                  fraction_ * 100);
    std::fflush(options_.messages);
    line_drawn_ = true;
  }
}

void Reporter::OnLog(LogLevel level, absl::string_view logger, absl::string_view message) {
  absl::MutexLock lock(&mutex_);
  if (level == LogLevel::kDebug && !debug_) {
    return;
  }
  if (options_.jsonl) {
    Json fields = Json::Object();
    fields.Set("level", LogLevelName(level)).Set("logger", logger).Set("message", message);
    if (!options_.traceparent.empty()) {
      fields.Set("traceparent", options_.traceparent);
    }
    Emit("log", fields);
    return;
  }
  ClearLine();
  absl::FPrintF(options_.messages, "%s: %s: %s\n", LogLevelName(level), logger, message);
}

void Reporter::Result(const Json& fields, absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  if (options_.jsonl) {
    Emit("result", fields);
    return;
  }
  ClearLine();
  std::fwrite(text.data(), 1, text.size(), options_.answers);
  std::fflush(options_.answers);
}

void Reporter::ShowDebug() {
  absl::MutexLock lock(&mutex_);
  debug_ = true;
}

void Reporter::Print(absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  if (options_.jsonl) {
    return;
  }
  ClearLine();
  std::fwrite(text.data(), 1, text.size(), options_.answers);
  std::fflush(options_.answers);
}

void Reporter::Error(const absl::Status& status, const Json& details) {
  const FailureRow& row = FailureRowOf(FailureCodeOf(status));
  absl::MutexLock lock(&mutex_);
  if (options_.jsonl) {
    Json all = Json::Object();
    all.Set("stage", stage_).Set("hint", row.hint);
    for (const auto& [key, value] : details.members()) {
      all.Set(key, value);
    }
    Emit("error", Json::Object()
                      .Set("code", row.name)
                      .Set("message", absl::string_view(status.message()))
                      .Set("details", std::move(all)));
    return;
  }
  ClearLine();
  absl::FPrintF(options_.messages, "ERROR [%s]: %s\n", row.name, status.message());
}

}  // namespace qb::worker

#include "client/cli/progress_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "client/cli/exit_code.h"
#include "client/cli/json_form.h"
#include "client/cli/printable.h"

namespace qb::client {
namespace {

constexpr absl::Duration kHeartbeat = absl::Seconds(30);
constexpr absl::Duration kRedraw = absl::Milliseconds(50);
constexpr int kBarCells = 24;

std::string CountOf(const qbc::v1::JobProgress& progress) {
  if (progress.total() <= 0) {
    return "";
  }
  return absl::StrCat(progress.done(), "/", progress.total(), " ", PrintableLine(progress.unit()));
}

int PercentOf(double fraction) { return static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100.0); }

// The lasting line of an event, or "" when it has none.
std::string LineOf(const qbc::v1::JobEvent& event) {
  switch (event.kind_case()) {
    case qbc::v1::JobEvent::kState: {
      std::string line = StateName(event.state().state());
      if (event.attempt() > 1) {
        absl::StrAppend(&line, ", attempt ", event.attempt());
      }
      if (!event.state().reason().empty()) {
        absl::StrAppend(&line, ": ", PrintableLine(event.state().reason()));
      }
      return line;
    }
    case qbc::v1::JobEvent::kLog: {
      const qbc::v1::LogSeverity severity = event.log().severity();
      if (severity < qbc::v1::LOG_SEVERITY_WARNING) {
        return "";
      }
      return absl::StrCat(severity == qbc::v1::LOG_SEVERITY_ERROR ? "error: " : "warning: ",
                          PrintableLine(event.log().message()));
    }
    default:
      return "";
  }
}

std::string RetryLine(const absl::Status& why, absl::Duration delay) {
  return absl::StrCat("no connection (", PrintableLine(why.message()), "); trying again in ",
                      FormatElapsed(delay));
}

std::string UploadLine(const UploadProgress& progress) {
  return absl::StrCat(progress.done_blobs, " of ", progress.total_blobs,
                      progress.total_blobs == 1 ? " file, " : " files, ",
                      FormatBytes(progress.done_bytes));
}

class PlainView final : public ProgressView {
 public:
  explicit PlainView(const CliEnvironment& environment) : err_(*environment.err) {}

  void Say(absl::string_view line) override {
    err_ << line << "\n" << std::flush;
    last_line_ = absl::Now();
  }
  void Warn(absl::string_view line) override { Say(absl::StrCat("warning: ", line)); }
  void OnUpload(const UploadProgress& progress) override {
    if (progress.total_blobs == 0) {
      Say("upload: the server has every file already");
    } else if (progress.done_blobs == progress.total_blobs) {
      Say(absl::StrCat("upload: ", UploadLine(progress)));
    } else {
      Heartbeat(absl::StrCat("upload: ", UploadLine(progress)));
    }
  }
  void OnEvent(absl::string_view, const qbc::v1::JobEvent& event) override {
    if (std::exchange(lost_, false)) {
      Say("connected again");
    }
    if (const std::string line = LineOf(event); !line.empty()) {
      Say(line);
    } else if (event.has_phase()) {
      Say(absl::StrCat("  ", PrintableLine(event.phase().phase())));
    } else if (event.has_progress()) {
      const qbc::v1::JobProgress& progress = event.progress();
      Heartbeat(absl::StrCat("  ", PrintableLine(progress.phase()), " ", CountOf(progress), " (",
                             PercentOf(progress.fraction()), " %)"));
    }
  }
  void OnDownload(int64_t done_bytes, int64_t total_bytes) override {
    Heartbeat(
        absl::StrCat("download: ", FormatBytes(done_bytes), " of ", FormatBytes(total_bytes)));
  }
  void OnRetry(const absl::Status& why, absl::Duration delay) override {
    if (!std::exchange(lost_, true)) {
      Say(RetryLine(why, delay));
    } else {
      Heartbeat(RetryLine(why, delay));
    }
  }
  void Clear() override {}

 private:
  void Heartbeat(const std::string& line) {
    if (absl::Now() - last_line_ >= kHeartbeat) {
      Say(line);
    }
  }

  std::ostream& err_;
  absl::Time last_line_ = absl::Now();
  bool lost_ = false;  // one line for a lost connection, then heartbeats
};

class BarView final : public ProgressView {
 public:
  explicit BarView(const CliEnvironment& environment)
      : err_(*environment.err),
        columns_(std::max(20, environment.columns)),
        color_(UseColor(environment)),
        begin_(absl::Now()) {}
  ~BarView() override { Clear(); }

  void Say(absl::string_view line) override {
    Clear();
    err_ << line << "\n" << std::flush;
  }
  void Warn(absl::string_view line) override {
    Say(color_ ? absl::StrCat("\x1b[33mwarning:\x1b[0m ", line) : absl::StrCat("warning: ", line));
  }
  void OnUpload(const UploadProgress& progress) override {
    if (progress.total_blobs == 0) {
      return;
    }
    if (progress.done_blobs == progress.total_blobs) {
      Say(absl::StrCat("upload: ", UploadLine(progress)));
      return;
    }
    Draw("upload", Share(progress.done_bytes, progress.total_bytes), UploadLine(progress), false);
  }
  void OnEvent(absl::string_view, const qbc::v1::JobEvent& event) override {
    if (event.has_log()) {
      if (const std::string line = LineOf(event); !line.empty()) {
        Say(line);
      }
    } else if (event.has_state()) {
      title_ = LineOf(event);
      Draw(title_, fraction_, "", true);
    } else if (event.has_phase()) {
      title_ = PrintableLine(event.phase().phase());
      Draw(title_, fraction_, "", true);
    } else if (event.has_progress()) {
      title_ = PrintableLine(event.progress().phase());
      fraction_ = event.progress().fraction();
      Draw(title_, fraction_, CountOf(event.progress()), true);
    }
  }
  void OnDownload(int64_t done_bytes, int64_t total_bytes) override {
    Draw("download", Share(done_bytes, total_bytes), FormatBytes(total_bytes), false);
  }
  void OnRetry(const absl::Status& why, absl::Duration delay) override {
    Put(RetryLine(why, delay));
  }
  void Clear() override {
    if (std::exchange(drawn_, false)) {
      err_ << "\r\x1b[K" << std::flush;
    }
  }

 private:
  static double Share(int64_t done, int64_t total) {
    return total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0;
  }

  void Draw(absl::string_view title, double fraction, absl::string_view count, bool now) {
    if (!now && absl::Now() - last_draw_ < kRedraw) {
      return;
    }
    const double share = std::clamp(fraction, 0.0, 1.0);
    const auto filled = static_cast<size_t>(share * kBarCells);
    Put(absl::StrFormat("%-12s [%s%s] %3d %%  %s  %s", title, std::string(filled, '#'),
                        std::string(kBarCells - filled, '.'), PercentOf(fraction), count,
                        FormatElapsed(absl::Now() - begin_)));
  }

  void Put(std::string line) {
    // A cell a byte: what is not ASCII would make the cut below wrong.
    std::replace_if(
        line.begin(), line.end(), [](char c) { return (c & 0x80) != 0; }, '?');
    line.resize(std::min(line.size(), static_cast<size_t>(columns_ - 1)));
    err_ << "\r" << line << "\x1b[K" << std::flush;
    drawn_ = true;
    last_draw_ = absl::Now();
  }

  std::ostream& err_;
  const int columns_;
  const bool color_;
  const absl::Time begin_;
  absl::Time last_draw_ = absl::InfinitePast();
  bool drawn_ = false;
  std::string title_;
  double fraction_ = 0.0;
};

// Warnings, and events when `out` is set.
class QuietView final : public ProgressView {
 public:
  QuietView(const CliEnvironment& environment, std::ostream* out)
      : err_(*environment.err), out_(out) {}

  void Say(absl::string_view) override {}
  void Warn(absl::string_view line) override { err_ << "warning: " << line << "\n" << std::flush; }
  void OnUpload(const UploadProgress&) override {}
  void OnEvent(absl::string_view job_id, const qbc::v1::JobEvent& event) override {
    if (out_ != nullptr) {
      *out_ << EventToJson(event, job_id).Dump() << "\n" << std::flush;
    }
  }
  void OnDownload(int64_t, int64_t) override {}
  void OnRetry(const absl::Status&, absl::Duration) override {}
  void Clear() override {}

 private:
  std::ostream& err_;
  std::ostream* const out_;
};

}  // namespace

bool UseColor(const CliEnvironment& environment) {
  return environment.err_is_terminal && environment.get_env("NO_COLOR").empty() &&
         environment.get_env("TERM") != "dumb";
}

absl::StatusOr<ViewKind> ChooseView(const CliEnvironment& environment, const std::string& choice,
                                    bool json) {
  if (!choice.empty() && choice != "auto" && choice != "plain" && choice != "none") {
    return UsageError(
        absl::StrCat("--progress: '", choice, "'; accepted are auto, plain and none"));
  }
  if (json) {
    return choice == "none" ? ViewKind::kNone : ViewKind::kJson;
  }
  if (choice == "none") {
    return ViewKind::kNone;
  }
  const std::string term = environment.get_env("TERM");
  const bool bar = choice != "plain" && environment.err_is_terminal && term != "dumb" &&
                   environment.get_env("CI").empty();
  return bar ? ViewKind::kBar : ViewKind::kPlain;
}

std::unique_ptr<ProgressView> CreateProgressView(ViewKind kind, const CliEnvironment& environment) {
  switch (kind) {
    case ViewKind::kBar:
      return std::make_unique<BarView>(environment);
    case ViewKind::kPlain:
      return std::make_unique<PlainView>(environment);
    case ViewKind::kJson:
      return std::make_unique<QuietView>(environment, environment.out);
    case ViewKind::kNone:
      break;
  }
  return std::make_unique<QuietView>(environment, nullptr);
}

}  // namespace qb::client

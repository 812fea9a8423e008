// Lines for people and machines that look after a program. Passed in, never global.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "core/base/log.h"

namespace qb {

// Names and values beside a message: {"job", "0190..."}. Fields with an empty value are left out.
using LogFields = std::vector<std::pair<std::string, std::string>>;

struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string message;
  LogFields fields;
};

// Where the lines of a part go. A value type; without a sink it is silent. As thread-safe as its
// sink.
class Log {
 public:
  using Sink = std::function<void(const LogLine&)>;

  Log() = default;
  explicit Log(Sink sink) : sink_(std::move(sink)) {}

  void operator()(LogLevel level, std::string message, LogFields fields = {}) const {
    if (sink_) {
      sink_({level, std::move(message), std::move(fields)});
    }
  }

 private:
  Sink sink_;
};

enum class LogFormat { kText, kJson };

// Errors: InvalidArgument naming `flag` for anything but "text" and "json".
absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view flag, absl::string_view text);

// One line with its end. Whatever the values are, it stays one line.
//   text: 2026-01-31T12:00:00.000Z info qbc-server: message job=0190...
//   json: {"time":"...","level":"info","program":"qbc-server","message":"...","job":"0190..."}
std::string FormatLogLine(LogFormat format, absl::string_view program, absl::Time time,
                          const LogLine& line);

// Writes to standard error, one write a line, so that lines of several threads do not mix.
Log StderrLog(LogFormat format, std::string program);

}  // namespace qb

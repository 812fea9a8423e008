#include "core/base/log_line.h"

#include <unistd.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/json.h"

namespace qb {
namespace {

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

// Line ends and other control characters as escapes; the rest, UTF-8 included, as it is.
std::string OneLine(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppend(&out, absl::CEscape(absl::string_view(&c, 1)));
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string FormatJson(absl::string_view program, absl::Time time, const LogLine& line) {
  Json json = Json::Object();
  json.Set("time", TimeText(time))
      .Set("level", LogLevelName(line.level))
      .Set("program", program)
      .Set("message", line.message);
  for (const auto& [name, value] : line.fields) {
    if (!value.empty()) {
      json.Set(name, value);
    }
  }
  return absl::StrCat(json.Dump(), "\n");
}

}  // namespace

absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view flag, absl::string_view text) {
  if (text == "text") {
    return LogFormat::kText;
  }
  if (text == "json") {
    return LogFormat::kJson;
  }
  return absl::InvalidArgumentError(absl::StrCat(flag, ": '", text, "': expected text or json"));
}

std::string FormatLogLine(LogFormat format, absl::string_view program, absl::Time time,
                          const LogLine& line) {
  if (format == LogFormat::kJson) {
    return FormatJson(program, time, line);
  }
  std::string text = absl::StrCat(TimeText(time), " ", LogLevelName(line.level), " ", program, ": ",
                                  OneLine(line.message));
  for (const auto& [name, value] : line.fields) {
    if (!value.empty()) {
      absl::StrAppend(&text, " ", name, "=", OneLine(value));
    }
  }
  return text + "\n";
}

Log StderrLog(LogFormat format, std::string program) {
  return Log([format, program = std::move(program)](const LogLine& line) {
    const std::string text = FormatLogLine(format, program, absl::Now(), line);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  });
}

}  // namespace qb

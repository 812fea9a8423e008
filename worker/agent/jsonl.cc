#include "worker/agent/jsonl.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/json.h"

namespace qb::worker {
namespace {

constexpr int kMaxDepth = 32;
constexpr size_t kMaxTextBytes = size_t{16} * 1024;
constexpr size_t kMaxDocumentBytes = size_t{128} * 1024;
constexpr size_t kMaxDetails = 16;
constexpr size_t kMaxMembers = 256;
constexpr size_t kMaxGarbageBytes = 200;
constexpr size_t kMaxOutputs = 64;

std::string Text(const Json& value, size_t max_bytes = kMaxTextBytes) {
  return CleanText(value.as_string(), max_bytes);
}

LogLevel LevelFromName(absl::string_view name) {
  for (const LogLevel level : {LogLevel::kDebug, LogLevel::kWarning, LogLevel::kError}) {
    if (name == LogLevelName(level)) {
      return level;
    }
  }
  return LogLevel::kInfo;
}

double FiniteOr(const Json& value, double fallback) {
  const double number = value.is_number() ? value.as_double() : fallback;
  return std::isfinite(number) ? number : fallback;
}

ProgressMessage ParseProgress(const Json& object) {
  ProgressMessage progress;
  progress.stage = Text(object["stage"], 100);
  progress.unit = Text(object["unit"], 100);
  progress.total = std::max<int64_t>(object["total"].as_int(), 0);
  progress.done = std::clamp<int64_t>(object["done"].as_int(), 0, progress.total);
  progress.fraction = std::clamp(FiniteOr(object["fraction"], 0), 0.0, 1.0);
  progress.eta_s = FiniteOr(object["eta_s"], -1);
  return progress;
}

ResultMessage ParseResult(const Json& object) {
  ResultMessage result;
  for (const Json& output : object["outputs"].items()) {
    if (result.outputs.size() == kMaxOutputs) {
      break;
    }
    result.outputs.push_back({.path = Text(output["path"], 4096),
                              .sha256 = Text(output["sha256"], 64),
                              .bytes = output["bytes"].as_int()});
  }
  Json rest = Json::Object();
  if (object.members().size() > kMaxMembers) {
    result.rest_json = "{}";
    return result;
  }
  for (const Json::Member& member : object.members()) {
    if (member.first != "type" && member.first != "seq" && member.first != "ts" &&
        member.first != "outputs") {
      rest.Set(member.first, member.second);
    }
  }
  result.rest_json = rest.Dump();
  if (result.rest_json.size() > kMaxDocumentBytes) {
    result.rest_json = "{}";
  }
  return result;
}

ErrorMessage ParseError(const Json& object) {
  ErrorMessage error;
  error.code = Text(object["code"], 100);
  error.message = Text(object["message"]);
  for (const Json::Member& member : object["details"].members()) {
    if (error.details.size() == kMaxDetails) {
      break;
    }
    const Json& value = member.second;
    const std::string text = value.is_string() ? value.as_string() : value.Dump();
    error.details.emplace_back(CleanText(member.first, 100), CleanText(text, 1024));
  }
  return error;
}

GarbageMessage Garbage(absl::string_view line, absl::string_view reason) {
  return {.text = CleanText(line, kMaxGarbageBytes), .reason = CleanText(reason, kMaxGarbageBytes)};
}

// Length of the UTF-8 sequence that its first byte announces; 0 for a byte that cannot start one.
size_t AnnouncedLength(unsigned char lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return 2;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    return 3;
  }
  return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

// Length of the valid character at the start of `text` (not empty), 0 when it is not one.
size_t CharacterLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = AnnouncedLength(byte(0));
  if (length == 0 || length > text.size()) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xED && byte(1) >= 0xA0;
  const bool too_large = byte(0) == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

void LineSplitter::Append(absl::string_view bytes) {
  const size_t room = max_line_bytes_ - pending_.size();
  if (bytes.size() > room) {
    cut_ = true;
    bytes = bytes.substr(0, room);
  }
  pending_.append(bytes.data(), bytes.size());
}

void LineSplitter::Feed(absl::string_view bytes, LineCallback on_line) {
  while (true) {
    const size_t newline = bytes.find('\n');
    if (newline == absl::string_view::npos) {
      Append(bytes);
      return;
    }
    Append(bytes.substr(0, newline));
    on_line(pending_, cut_);
    pending_.clear();
    cut_ = false;
    bytes.remove_prefix(newline + 1);
  }
}

void LineSplitter::Finish(LineCallback on_line) {
  if (!pending_.empty() || cut_) {
    on_line(pending_, cut_);
  }
  pending_.clear();
  cut_ = false;
}

std::string CleanText(absl::string_view text, size_t max_bytes) {
  std::string clean;
  clean.reserve(std::min(text.size(), max_bytes));
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const absl::string_view piece =
        length == 0 || text[0] == '\0' ? absl::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    if (clean.size() + piece.size() > max_bytes) {
      if (max_bytes > 3) {
        // Take whole characters off until the mark fits.
        while (clean.size() + 3 > max_bytes) {
          while (!clean.empty() && (static_cast<unsigned char>(clean.back()) & 0xC0) == 0x80) {
            clean.pop_back();
          }
          clean.pop_back();
        }
        clean.append("...");
      }
      return clean;
    }
    clean.append(piece.data(), piece.size());
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return clean;
}

CompilerMessage ParseCompilerLine(absl::string_view line) {
  CompilerMessage message;
  if (line.size() > kMaxLineBytes) {
    message.body = Garbage(line, "longer than a line may be");
    return message;
  }
  absl::StatusOr<Json> parsed = Json::Parse(line, kMaxDepth);
  if (!parsed.ok()) {
    message.body = Garbage(line, parsed.status().message());
    return message;
  }
  const Json& object = *parsed;
  if (!object.is_object()) {
    message.body = Garbage(line, "not an object");
    return message;
  }
  message.seq = std::max<int64_t>(object["seq"].as_int(), 0);
  const std::string& type = object["type"].as_string();
  if (type == "status") {
    message.body = StatusMessage{Text(object["state"], 100), Text(object["stage"], 100)};
  } else if (type == "progress") {
    message.body = ParseProgress(object);
  } else if (type == "log") {
    message.body = LogMessage{LevelFromName(object["level"].as_string()),
                              Text(object["logger"], 100), Text(object["message"])};
  } else if (type == "result") {
    message.body = ParseResult(object);
  } else if (type == "error") {
    message.body = ParseError(object);
  } else {
    message.body = Garbage(line, absl::StrCat("unknown type '", type, "'"));
  }
  return message;
}

}  // namespace qb::worker

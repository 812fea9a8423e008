// Reading what the compile process writes on its standard output: one JSON object a line.
//
// The bytes come from a process that ran on somebody's model, so they are hostile: lines are
// bounded, nesting is bounded, and whatever does not fit the protocol becomes a GarbageMessage
// instead of an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

#include "core/base/log.h"

namespace qb::worker {

// Cuts a byte stream into lines of bounded length. One thread.
class LineSplitter {
 public:
  // `cut` says that the line was longer than the limit and that its rest was dropped.
  using LineCallback = absl::FunctionRef<void(absl::string_view line, bool cut)>;

  explicit LineSplitter(size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  void Feed(absl::string_view bytes, LineCallback on_line);
  // Hands over the last line when it has no newline. Call at the end of the stream.
  void Finish(LineCallback on_line);

 private:
  void Append(absl::string_view bytes);

  const size_t max_line_bytes_;
  std::string pending_;
  bool cut_ = false;
};

struct StatusMessage {
  std::string state;
  std::string stage;
};
struct ProgressMessage {
  std::string stage;
  std::string unit;
  int64_t done = 0;
  int64_t total = 0;
  double fraction = 0;  // of the whole job, within [0, 1]
  double eta_s = -1;    // seconds; negative when the compiler does not know
};
struct LogMessage {
  LogLevel level = LogLevel::kInfo;
  std::string logger;
  std::string message;
};
struct OutputEntry {
  std::string path;
  std::string sha256;  // as claimed: never trusted, the agent hashes the file itself
  int64_t bytes = 0;
};
struct ResultMessage {
  std::vector<OutputEntry> outputs;
  // The message without type, seq, ts and outputs, as one line of JSON ("{}" when that is too
  // long).
  std::string rest_json;
};
struct ErrorMessage {
  std::string code;  // as claimed; see FailureCodeFromName
  std::string message;
  std::vector<std::pair<std::string, std::string>> details;  // texts as they are, the rest as JSON
};
// A line that is not a message of the protocol.
struct GarbageMessage {
  std::string text;    // the start of the line, valid UTF-8, at most 200 bytes of it
  std::string reason;  // what is wrong with it
};

struct CompilerMessage {
  int64_t seq = 0;  // 0 when the line carries none
  std::variant<StatusMessage, ProgressMessage, LogMessage, ResultMessage, ErrorMessage,
               GarbageMessage>
      body;
};

inline constexpr size_t kMaxLineBytes = size_t{1} << 20;

// Parses one line (without its newline). Never fails: see GarbageMessage. Text members are valid
// UTF-8 and cut at 16 KiB.
CompilerMessage ParseCompilerLine(absl::string_view line);

// `text` with every invalid UTF-8 byte replaced and at most `max_bytes` long (cut between
// characters, "..." at the end when something was cut).
std::string CleanText(absl::string_view text, size_t max_bytes);

}  // namespace qb::worker

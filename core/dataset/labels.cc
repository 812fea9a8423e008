#include "core/dataset/labels.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

constexpr int64_t kMaxLabelBytes = int64_t{64} << 20;

// Splits RFC 4180 text into rows.
class CsvCursor {
 public:
  explicit CsvCursor(absl::string_view text) : text_(text) {}

  bool AtEnd() const { return position_ >= text_.size(); }
  int64_t line() const { return line_; }

  // Reads up to and with the end of the line. False: a quote was never closed.
  bool Row(std::vector<std::string>& fields) {
    fields.assign(1, "");
    bool quoted = false;
    while (!AtEnd()) {
      const char c = text_[position_++];
      line_ += c == '\n' ? 1 : 0;
      if (quoted && c == '"' && !AtEnd() && text_[position_] == '"') {
        fields.back().push_back('"');
        ++position_;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (!quoted && c == ',') {
        fields.emplace_back();
      } else if (!quoted && c == '\n') {
        return true;
      } else if (quoted || c != '\r') {
        fields.back().push_back(c);
      }
    }
    return !quoted;
  }

 private:
  absl::string_view text_;
  size_t position_ = 0;
  int64_t line_ = 1;
};

}  // namespace

absl::StatusOr<Labels> ParseLabels(absl::string_view text) {
  CsvCursor cursor(text);
  Labels labels;
  std::vector<std::string> fields;
  bool header = true;
  while (!cursor.AtEnd()) {
    const int64_t line = cursor.line();
    const bool closed = cursor.Row(fields);
    if (fields.size() == 1 && fields[0].empty() && closed) {
      continue;
    }
    if (!closed || fields.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line, ": expected 'sample,label', found ",
                       closed ? absl::StrCat(fields.size(), " fields") : "an open quote"));
    }
    if (header) {
      if (fields[0] != "sample" || fields[1] != "label") {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", line, ": the first line must be 'sample,label'"));
      }
      header = false;
      continue;
    }
    std::string sample = fields[0];
    if (absl::EndsWith(sample, ".npy")) {
      sample.resize(sample.size() - 4);
    }
    if (!labels.emplace(sample, fields[1]).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line, ": sample '", sample, "' is listed twice"));
    }
  }
  return labels;
}

absl::StatusOr<Labels> ReadLabels(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMaxLabelBytes);
  absl::Status status = text.status();
  if (text.ok()) {
    absl::StatusOr<Labels> labels = ParseLabels(*text);
    if (labels.ok()) {
      return labels;
    }
    status = labels.status();
  }
  return Failure(FailureCode::kArgumentError,
                 absl::StrCat("labels '", path, "': ", status.message()));
}

}  // namespace qb

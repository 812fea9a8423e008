// The tokens of the graph text form: how they are written, and a scanner that reads them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/ir/attributes.h"

namespace qb {

// A letter or '_', then letters, digits and '_'.
bool IsIdentifier(absl::string_view text);
// The name as it is when it is an identifier, else in quotes.
std::string NameToken(absl::string_view name);
// "..." with \" \\ and \xHH for bytes outside printable ASCII.
std::string QuotedToken(absl::string_view text);
// The shortest of the usual forms that reads back equal; always with '.', 'e', "inf" or "nan", so
// that it does not read as an integer.
std::string FloatToken(double value);
std::string FloatToken(float value);
std::string AttrToken(const AttrValue& value);

// Reads tokens from text that it borrows. Blanks, newlines and comments (// to the end of the line)
// between tokens are skipped. Every error says line and column, counted from 1.
class TextScanner {
 public:
  explicit TextScanner(absl::string_view text) : text_(text) {}

  bool AtEnd();
  // True, and behind it, when the next token is this punctuation.
  bool Consume(char punctuation);
  bool Peek(char punctuation);
  absl::Status Expect(char punctuation);

  absl::StatusOr<std::string> ReadIdentifier(absl::string_view what);
  // An identifier or a quoted string.
  absl::StatusOr<std::string> ReadName(absl::string_view what);
  // The characters of a number, or "inf", "-inf", "nan".
  absl::StatusOr<std::string> ReadNumber(absl::string_view what);
  // Everything up to `end`, which is consumed. For the inside of "[1x3x8x8]".
  absl::StatusOr<std::string> ReadUntil(char end, absl::string_view what);
  absl::StatusOr<int64_t> ReadInteger(absl::string_view what);
  absl::StatusOr<AttrValue> ReadAttrValue(absl::string_view what);

  // InvalidArgument "line 3, column 7: <what>".
  absl::Status Error(absl::string_view what) const;

 private:
  void SkipBlank();
  void Advance();
  char Current() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  absl::StatusOr<std::string> ReadQuoted();
  absl::StatusOr<char> ReadEscape();
  absl::StatusOr<AttrValue> ReadScalarValue(absl::string_view what);
  absl::StatusOr<AttrValue> ReadListValue(absl::string_view what);

  absl::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1;
  int64_t column_ = 1;
};

}  // namespace qb

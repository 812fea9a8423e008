#include "core/ops/text_tokens.h"

#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

bool IsNameStart(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsNamePart(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool LooksLikeFloat(absl::string_view number) {
  return number.find_first_of(".einf") != absl::string_view::npos;
}

std::string WithFloatMark(std::string number) {
  if (!LooksLikeFloat(number)) {
    number += ".0";
  }
  return number;
}

}  // namespace

bool IsIdentifier(absl::string_view text) {
  if (text.empty() || !IsNameStart(text[0])) {
    return false;
  }
  for (const char c : text) {
    if (!IsNamePart(c)) {
      return false;
    }
  }
  return true;
}

std::string NameToken(absl::string_view name) {
  return IsIdentifier(name) ? std::string(name) : QuotedToken(name);
}

std::string QuotedToken(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted.push_back('\\');
      quoted.push_back(c);
    } else if (c >= ' ' && c <= '~') {
      quoted.push_back(c);
    } else {
      absl::StrAppendFormat(&quoted, "\\x%02x", static_cast<unsigned char>(c));
    }
  }
  quoted.push_back('"');
  return quoted;
}

std::string FloatToken(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-inf" : "inf";
  }
  std::string token = absl::StrFormat("%.15g", value);
  double back = 0;
  if (!absl::SimpleAtod(token, &back) || back != value) {
    token = absl::StrFormat("%.17g", value);
  }
  return WithFloatMark(std::move(token));
}

std::string FloatToken(float value) {
  if (!std::isfinite(value)) {
    return FloatToken(static_cast<double>(value));
  }
  for (const int digits : {6, 7, 8}) {
    std::string token = absl::StrFormat("%.*g", digits, value);
    float back = 0;
    if (absl::SimpleAtof(token, &back) && back == value) {
      return WithFloatMark(std::move(token));
    }
  }
  return WithFloatMark(absl::StrFormat("%.9g", value));
}

std::string AttrToken(const AttrValue& value) {
  struct Writer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return absl::StrCat(v); }
    std::string operator()(float v) const { return FloatToken(v); }
    std::string operator()(const std::string& v) const { return QuotedToken(v); }
    std::string operator()(const std::vector<int64_t>& v) const {
      return absl::StrCat("[", absl::StrJoin(v, ", "), "]");
    }
    std::string operator()(const std::vector<float>& v) const {
      return absl::StrCat(
          "[", absl::StrJoin(v, ", ", [](std::string* out, float f) { *out += FloatToken(f); }),
          "]");
    }
  };
  return std::visit(Writer(), value);
}

absl::Status TextScanner::Error(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat("line ", line_, ", column ", column_, ": ", what));
}

void TextScanner::Advance() {
  if (Current() == '\n') {
    ++line_;
    column_ = 0;
  }
  ++column_;
  ++at_;
}

void TextScanner::SkipBlank() {
  while (at_ < text_.size()) {
    if (absl::ascii_isspace(static_cast<unsigned char>(Current()))) {
      Advance();
    } else if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && Current() != '\n') {
        Advance();
      }
    } else {
      return;
    }
  }
}

bool TextScanner::AtEnd() {
  SkipBlank();
  return at_ >= text_.size();
}

bool TextScanner::Peek(char punctuation) {
  SkipBlank();
  return at_ < text_.size() && Current() == punctuation;
}

bool TextScanner::Consume(char punctuation) {
  if (!Peek(punctuation)) {
    return false;
  }
  Advance();
  return true;
}

absl::Status TextScanner::Expect(char punctuation) {
  if (Consume(punctuation)) {
    return absl::OkStatus();
  }
  return Error(absl::StrCat("expected '", std::string(1, punctuation), "'"));
}

absl::StatusOr<std::string> TextScanner::ReadIdentifier(absl::string_view what) {
  SkipBlank();
  if (!IsNameStart(Current())) {
    return Error(absl::StrCat("expected ", what));
  }
  std::string identifier;
  while (IsNamePart(Current())) {
    identifier.push_back(Current());
    Advance();
  }
  return identifier;
}

absl::StatusOr<std::string> TextScanner::ReadName(absl::string_view what) {
  return Peek('"') ? ReadQuoted() : ReadIdentifier(what);
}

absl::StatusOr<char> TextScanner::ReadEscape() {
  const char c = Current();
  if (c == '"' || c == '\\') {
    Advance();
    return c;
  }
  uint32_t code = 0;
  if (c != 'x' || at_ + 3 > text_.size() || !absl::SimpleHexAtoi(text_.substr(at_ + 1, 2), &code) ||
      !absl::ascii_isxdigit(static_cast<unsigned char>(text_[at_ + 1]))) {
    return Error("expected \\\", \\\\ or \\x and two hex digits");
  }
  Advance();
  Advance();
  Advance();
  return static_cast<char>(code);
}

absl::StatusOr<std::string> TextScanner::ReadQuoted() {
  QB_RETURN_IF_ERROR(Expect('"'));
  std::string text;
  while (at_ < text_.size() && Current() != '"') {
    if (Current() == '\n') {
      return Error("a string does not end on its line");
    }
    char c = Current();
    Advance();
    if (c == '\\') {
      QB_ASSIGN_OR_RETURN(c, ReadEscape());
    }
    text.push_back(c);
  }
  if (at_ >= text_.size()) {
    return Error("a string does not end");
  }
  Advance();
  return text;
}

absl::StatusOr<std::string> TextScanner::ReadNumber(absl::string_view what) {
  SkipBlank();
  std::string number;
  while (IsNamePart(Current()) || Current() == '+' || Current() == '-' || Current() == '.') {
    number.push_back(Current());
    Advance();
  }
  if (number.empty()) {
    return Error(absl::StrCat("expected ", what));
  }
  return number;
}

absl::StatusOr<std::string> TextScanner::ReadUntil(char end, absl::string_view what) {
  std::string inside;
  while (at_ < text_.size() && Current() != end && Current() != '\n') {
    inside.push_back(Current());
    Advance();
  }
  if (Current() != end) {
    return Error(absl::StrCat("expected ", what, " and '", std::string(1, end), "'"));
  }
  Advance();
  return inside;
}

absl::StatusOr<int64_t> TextScanner::ReadInteger(absl::string_view what) {
  QB_ASSIGN_OR_RETURN(const std::string number, ReadNumber(what));
  int64_t value = 0;
  if (!absl::SimpleAtoi(number, &value)) {
    return Error(absl::StrCat("'", number, "' is no integer"));
  }
  return value;
}

absl::StatusOr<AttrValue> TextScanner::ReadScalarValue(absl::string_view what) {
  if (Peek('"')) {
    QB_ASSIGN_OR_RETURN(std::string text, ReadQuoted());
    return AttrValue(std::move(text));
  }
  QB_ASSIGN_OR_RETURN(const std::string token, ReadNumber(what));
  if (token == "true" || token == "false") {
    return AttrValue(token == "true");
  }
  int64_t integer = 0;
  if (!LooksLikeFloat(token) && absl::SimpleAtoi(token, &integer)) {
    return AttrValue(integer);
  }
  float real = 0;
  if (!absl::SimpleAtof(token, &real)) {
    return Error(absl::StrCat("'", token, "' is no value for ", what));
  }
  return AttrValue(real);
}

absl::StatusOr<AttrValue> TextScanner::ReadListValue(absl::string_view what) {
  std::vector<int64_t> integers;  // as long as all elements are
  std::vector<float> reals;
  QB_RETURN_IF_ERROR(Expect('['));
  while (!Consume(']')) {
    if (!reals.empty()) {
      QB_RETURN_IF_ERROR(Expect(','));
    }
    QB_ASSIGN_OR_RETURN(const AttrValue value, ReadScalarValue(what));
    if (const int64_t* integer = std::get_if<int64_t>(&value); integer != nullptr) {
      integers.push_back(*integer);
      reals.push_back(static_cast<float>(*integer));
    } else if (const float* real = std::get_if<float>(&value); real != nullptr) {
      reals.push_back(*real);
    } else {
      return Error("a list holds numbers");
    }
  }
  if (integers.size() == reals.size()) {
    return AttrValue(std::move(integers));
  }
  return AttrValue(std::move(reals));
}

absl::StatusOr<AttrValue> TextScanner::ReadAttrValue(absl::string_view what) {
  return Peek('[') ? ReadListValue(what) : ReadScalarValue(what);
}

}  // namespace qb

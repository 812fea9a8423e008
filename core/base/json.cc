#include "core/base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace qb {
namespace {

// Length of the valid UTF-8 sequence at `text[i]`, or 0.
size_t Utf8Length(absl::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(i);
  size_t length = 0;
  uint32_t point = 0;
  if (lead < 0x80) {
    return 1;
  }
  if ((lead & 0xE0) == 0xC0) {
    length = 2;
    point = lead & 0x1F;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3;
    point = lead & 0x0F;
  } else if ((lead & 0xF8) == 0xF0) {
    length = 4;
    point = lead & 0x07;
  } else {
    return 0;
  }
  if (i + length > text.size()) {
    return 0;
  }
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) {
      return 0;
    }
    point = (point << 6) | (byte(i + k) & 0x3F);
  }
  const uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < least || point > 0x10FFFF || surrogate ? 0 : length;
}

void DumpString(absl::string_view text, std::string& out) {
  out.push_back('"');
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const size_t length = Utf8Length(text, i);
    if (length == 0) {
      out.append("\xEF\xBF\xBD");
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(text[i]);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (c == '\r') {
      out.append("\\r");
    } else if (c < 0x20 || c == 0x7F) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      out.append(text.data() + i, length);
    }
    i += length;
  }
  out.push_back('"');
}

void DumpDouble(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out.append("null");
    return;
  }
  std::array<char, 40> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  const absl::string_view text(buffer.data(), static_cast<size_t>(result.ptr - buffer.data()));
  absl::StrAppend(&out, text);
  if (text.find_first_of(".e") == absl::string_view::npos) {
    out.append(".0");
  }
}

// Builds the value while nlohmann's SAX parser reads; the first problem stops it.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(int max_depth) : max_depth_(max_depth) {}

  bool null() override { return Add(Json()); }
  bool boolean(bool value) override { return Add(Json(value)); }
  bool number_integer(int64_t value) override { return Add(Json(value)); }
  bool number_unsigned(uint64_t value) override {
    return value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
               ? Add(Json(static_cast<int64_t>(value)))
               : Add(Json(static_cast<double>(value)));
  }
  bool number_float(double value, const std::string& text) override {
    if (!std::isfinite(value)) {
      error = absl::StrCat("number out of range: ", text);
      return false;
    }
    return Add(Json(value));
  }
  bool string(std::string& value) override { return Add(Json(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::Object()); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(Json::Array()); }
  bool end_array() override { return Close(); }
  bool key(std::string& value) override {
    if (!keys_.back().insert(value).second) {
      error = absl::StrCat("duplicate key \"", value, "\"");
      return false;
    }
    pending_keys_.back() = std::move(value);
    return true;
  }
  bool parse_error(size_t, const std::string&,
                   const nlohmann::json::exception& exception) override {
    error = exception.what();
    return false;
  }

  Json root;
  std::string error;

 private:
  bool Add(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (open_.back().is_array()) {
      open_.back().Append(std::move(value));
    } else {
      open_.back().SetNew(pending_keys_.back(), std::move(value));
    }
    return true;
  }
  bool Open(Json container) {
    if (static_cast<int>(open_.size()) >= max_depth_) {
      error = absl::StrCat("nested deeper than ", max_depth_, " levels");
      return false;
    }
    open_.push_back(std::move(container));
    keys_.emplace_back();
    pending_keys_.emplace_back();
    return true;
  }
  bool Close() {
    Json value = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    pending_keys_.pop_back();
    return Add(std::move(value));
  }

  const int max_depth_;
  std::vector<Json> open_;
  std::vector<std::unordered_set<std::string>> keys_;
  std::vector<std::string> pending_keys_;
};

// `indent` 0 gives one line.
class Writer {
 public:
  Writer(std::string& out, int indent) : out_(out), indent_(indent) {}

  void Write(const Json& json, int depth) {
    switch (json.type()) {
      case Json::Type::kNull:
        out_.append("null");
        return;
      case Json::Type::kBool:
        out_.append(json.as_bool() ? "true" : "false");
        return;
      case Json::Type::kInt:
        absl::StrAppend(&out_, json.as_int());
        return;
      case Json::Type::kDouble:
        DumpDouble(json.as_double(), out_);
        return;
      case Json::Type::kString:
        DumpString(json.as_string(), out_);
        return;
      case Json::Type::kArray:
        WriteItems(json.items(), depth);
        return;
      case Json::Type::kObject:
        WriteMembers(json.members(), depth);
        return;
    }
  }

 private:
  void WriteItems(const std::vector<Json>& items, int depth) {
    out_.push_back('[');
    for (size_t i = 0; i < items.size(); ++i) {
      out_.append(i == 0 ? "" : ",");
      NewLine(depth + 1);
      Write(items[i], depth + 1);
    }
    if (!items.empty()) {
      NewLine(depth);
    }
    out_.push_back(']');
  }

  void WriteMembers(const std::vector<Json::Member>& members, int depth) {
    out_.push_back('{');
    for (size_t i = 0; i < members.size(); ++i) {
      out_.append(i == 0 ? "" : ",");
      NewLine(depth + 1);
      DumpString(members[i].first, out_);
      out_.append(indent_ > 0 ? ": " : ":");
      Write(members[i].second, depth + 1);
    }
    if (!members.empty()) {
      NewLine(depth);
    }
    out_.push_back('}');
  }

  void NewLine(int level) {
    if (indent_ > 0) {
      out_.push_back('\n');
      out_.append(static_cast<size_t>(level) * static_cast<size_t>(indent_), ' ');
    }
  }

  std::string& out_;
  const int indent_;
};

}  // namespace

Json Json::Array() {
  Json value;
  value.type_ = Type::kArray;
  return value;
}

Json Json::Object() {
  Json value;
  value.type_ = Type::kObject;
  return value;
}

absl::StatusOr<Json> Json::Parse(absl::string_view text, int max_depth) {
  Builder builder(max_depth);
  const bool parsed = nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &builder);
  if (!parsed) {
    return absl::InvalidArgumentError(absl::StrCat("not valid JSON: ", builder.error));
  }
  return std::move(builder.root);
}

const Json& Json::operator[](absl::string_view key) const {
  static const Json null;
  for (const Member& member : members_) {
    if (member.first == key) {
      return member.second;
    }
  }
  return null;
}

bool Json::contains(absl::string_view key) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const Member& member) { return member.first == key; });
}

Json& Json::Set(absl::string_view key, Json value) {
  type_ = Type::kObject;
  for (Member& member : members_) {
    if (member.first == key) {
      member.second = std::move(value);
      return *this;
    }
  }
  members_.emplace_back(std::string(key), std::move(value));
  return *this;
}

Json& Json::SetNew(absl::string_view key, Json value) {
  type_ = Type::kObject;
  members_.emplace_back(std::string(key), std::move(value));
  return *this;
}

Json& Json::Append(Json value) {
  type_ = Type::kArray;
  items_.push_back(std::move(value));
  return *this;
}

std::string Json::Dump(int indent) const {
  std::string out;
  DumpTo(out, indent, 0);
  return out;
}

void Json::DumpTo(std::string& out, int indent, int depth) const {
  Writer(out, indent).Write(*this, depth);
}

}  // namespace qb

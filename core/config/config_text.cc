// Config text to and from Json. yaml-cpp throws; nothing leaves this file as an exception.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "yaml-cpp/depthguard.h"
#include "yaml-cpp/yaml.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/config/compile_config.h"

namespace qb {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr int kMostDepth = 64;
// A file of aliases can expand to more nodes than memory holds.
constexpr int kMostNodes = 50000;

class YamlReader {
 public:
  absl::StatusOr<Json> Convert(const YAML::Node& node, int depth) {
    if (depth > kMostDepth) {
      return Error(node, absl::StrCat("nested deeper than ", kMostDepth, " levels"));
    }
    if (++nodes_ > kMostNodes) {
      return Error(node, absl::StrCat("more than ", kMostNodes, " values"));
    }
    const std::string& tag = node.Tag();
    if (!tag.empty() && tag != "?" && tag != "!") {
      return Error(node, absl::StrCat("the tag '", tag, "' is not accepted"));
    }
    if (node.IsMap()) {
      return ConvertMap(node, depth);
    }
    if (node.IsSequence()) {
      Json list = Json::Array();
      for (const YAML::Node& item : node) {
        QB_ASSIGN_OR_RETURN(Json value, Convert(item, depth + 1));
        list.Append(std::move(value));
      }
      return list;
    }
    return node.IsScalar() ? ConvertScalar(node.Scalar(), tag == "!") : Json();
  }

 private:
  absl::StatusOr<Json> ConvertMap(const YAML::Node& node, int depth) {
    Json object = Json::Object();
    std::set<std::string> keys;
    for (const auto& member : node) {
      if (!member.first.IsScalar()) {
        return Error(member.first, "a key is not a name");
      }
      const std::string key = member.first.Scalar();
      if (!keys.insert(key).second) {
        return Error(member.first, absl::StrCat("duplicate key '", key, "'"));
      }
      if (key == "<<" && member.first.Tag() != "!") {
        return Error(member.first, "merge keys (<<) are not accepted; write the keys out");
      }
      QB_ASSIGN_OR_RETURN(Json value, Convert(member.second, depth + 1));
      object.SetNew(key, std::move(value));
    }
    return object;
  }

  // The YAML 1.2 core schema for plain scalars.
  static Json ConvertScalar(const std::string& text, bool quoted) {
    if (quoted) {
      return Json(text);
    }
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
      return Json();
    }
    if (text == "true" || text == "True" || text == "TRUE") {
      return Json(true);
    }
    if (text == "false" || text == "False" || text == "FALSE") {
      return Json(false);
    }
    int64_t integer = 0;
    const bool looks_numeric =
        absl::ascii_isdigit(static_cast<unsigned char>(text.back())) || text.back() == '.';
    if (looks_numeric && absl::SimpleAtoi(text, &integer)) {
      return Json(integer);
    }
    double real = 0;
    if (looks_numeric && absl::SimpleAtod(text, &real) && std::isfinite(real)) {
      return Json(real);
    }
    return Json(text);
  }

  static absl::Status Error(const YAML::Node& node, absl::string_view what) {
    const YAML::Mark mark = node.Mark();
    return absl::InvalidArgumentError(
        absl::StrCat("line ", mark.line + 1, ", column ", mark.column + 1, ": ", what));
  }

  int nodes_ = 0;
};

absl::StatusOr<Json> ParseYaml(absl::string_view text) {
  // The recursion of yaml-cpp follows the nesting: refuse brackets beyond any real config first.
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth > kMostDepth) {
      return absl::InvalidArgumentError(absl::StrCat("nested deeper than ", kMostDepth, " levels"));
    }
  }
  try {
    return YamlReader().Convert(YAML::Load(std::string(text)), 0);
  } catch (const YAML::DeepRecursion& exception) {
    return absl::InvalidArgumentError(absl::StrCat("line ", exception.mark.line + 1,
                                                   ": nested deeper than ", kMostDepth, " levels"));
  } catch (const YAML::Exception& exception) {
    return absl::InvalidArgumentError(exception.what());
  }
}

// Whether escapes ("\0", "\u0000") put a NUL into a key or a string: a path would end there.
bool HasNul(const Json& value) {
  const auto has_nul = [](const std::string& text) { return absl::StrContains(text, '\0'); };
  return has_nul(value.as_string()) ||
         std::any_of(value.items().begin(), value.items().end(), HasNul) ||
         std::any_of(value.members().begin(), value.members().end(),
                     [&](const Json::Member& member) {
                       return has_nul(member.first) || HasNul(member.second);
                     });
}

// Bytes of the UTF-8 character at the start of `text`; 0 when there is none (RFC 3629: no overlong
// form, no surrogate). Precondition: `text` is not empty.
size_t Utf8Size(absl::string_view text) {
  const auto in = [&](size_t at, unsigned low, unsigned high) {
    const unsigned byte = at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
    return byte >= low && byte <= high;
  };
  const unsigned lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) {
    return 1;
  }
  if (in(0, 0xC2, 0xDF)) {
    return in(1, 0x80, 0xBF) ? 2 : 0;
  }
  if (in(0, 0xE0, 0xEF)) {
    const bool second = in(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
    return second && in(2, 0x80, 0xBF) ? 3 : 0;
  }
  const bool second = in(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
  return in(0, 0xF0, 0xF4) && second && in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF) ? 4 : 0;
}

// The offset of the first byte that is no UTF-8; npos when there is none.
size_t FindNoUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t size = Utf8Size(text.substr(i));
    if (size == 0) {
      return i;
    }
    i += size;
  }
  return absl::string_view::npos;
}

void AppendYaml(const Json& value, int indent, std::string& out) {
  const std::string pad(static_cast<size_t>(indent) * 2, ' ');
  for (const auto& [key, child] : value.members()) {
    absl::StrAppend(&out, pad, Json(key).Dump(), ":");
    if (child.is_object() && !child.members().empty()) {
      out.push_back('\n');
      AppendYaml(child, indent + 1, out);
    } else {
      absl::StrAppend(&out, " ", child.Dump(), "\n");
    }
  }
}

}  // namespace

absl::StatusOr<Json> ParseConfigText(absl::string_view text, absl::string_view file_name) {
  const auto fail = [&](absl::string_view why) {
    return Failure(FailureCode::kConfigError, absl::StrCat("config '", file_name, "': ", why));
  };
  if (text.size() > kMostBytes) {
    return fail(absl::StrCat(text.size(), " bytes; at most ", kMostBytes, " are accepted"));
  }
  if (absl::StrContains(text, '\0')) {
    return fail("it has a NUL byte; JSON or YAML text is accepted");
  }
  if (const size_t bad = FindNoUtf8(text); bad != absl::string_view::npos) {
    return fail(absl::StrCat("byte ", bad + 1, " is not UTF-8"));
  }
  const absl::string_view trimmed = absl::StripLeadingAsciiWhitespace(text);
  absl::StatusOr<Json> value =
      !trimmed.empty() && trimmed[0] == '{' ? Json::Parse(trimmed, kMostDepth) : ParseYaml(text);
  if (!value.ok()) {
    return fail(value.status().message());
  }
  if (HasNul(*value)) {
    return fail("a name or text has a NUL in it");
  }
  return value->is_null() ? Json::Object() : *std::move(value);
}

// Every nested value that is no object is written in JSON's form, which YAML includes; keys that
// are plain identifiers lose their quotes.
std::string JsonToYaml(const Json& value) {
  std::string quoted;
  AppendYaml(value, 0, quoted);
  std::string out;
  for (size_t i = 0; i < quoted.size();) {
    const size_t line_end = quoted.find('\n', i);
    absl::string_view line = absl::string_view(quoted).substr(i, line_end - i);
    const size_t open = line.find_first_not_of(' ');
    const size_t close = line.find("\":", open + 1);
    const absl::string_view key = line.substr(open + 1, close - open - 1);
    const bool plain = !key.empty() &&
                       key.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789_") == absl::string_view::npos &&
                       !absl::ascii_isdigit(static_cast<unsigned char>(key[0]));
    if (plain) {
      absl::StrAppend(&out, line.substr(0, open), key, line.substr(close + 1), "\n");
    } else {
      absl::StrAppend(&out, line, "\n");
    }
    i = line_end + 1;
  }
  return out;
}

}  // namespace qb

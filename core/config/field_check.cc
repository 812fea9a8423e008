#include "core/config/field_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "core/config/pipeline_steps.h"

namespace qb {
namespace {

bool AllItems(const Json& value, bool (Json::*is)() const) {
  return value.is_array() && std::all_of(value.items().begin(), value.items().end(),
                                         [&](const Json& item) { return (item.*is)(); });
}

bool HasType(const Json& value, FieldType type) {
  switch (type) {
    case FieldType::kBool:
      return value.is_bool();
    case FieldType::kInt:
    case FieldType::kIntChoice:
      return value.is_int();
    case FieldType::kFloat:
      return value.is_number();
    case FieldType::kString:
    case FieldType::kEnum:
      return value.is_string();
    case FieldType::kStringList:
      return AllItems(value, &Json::is_string);
    case FieldType::kIntList:
      return AllItems(value, &Json::is_int);
    case FieldType::kFfnBits:
      return value.is_int() || value.is_object();
    case FieldType::kPipeline:
      return value.is_array();
    case FieldType::kPipelines:
    case FieldType::kMethods:
    case FieldType::kAny:
      return value.is_object();
  }
  return false;
}

bool IsAccepted(const FieldDef& field, const Json& value) {
  const std::vector<std::string> accepted = absl::StrSplit(field.accepted, ' ', absl::SkipEmpty());
  const std::string text = value.is_string() ? value.as_string() : absl::StrCat(value.as_int());
  return accepted.empty() || std::find(accepted.begin(), accepted.end(), text) != accepted.end();
}

void CheckFfnBits(const FieldDef& field, const Json& value, std::vector<std::string>& problems) {
  for (const auto& [key, bits] : value.members()) {
    const bool known = key == "up" || key == "gate" || key == "down";
    if (!known || !bits.is_int() || !IsAccepted(field, bits)) {
      problems.push_back(absl::StrCat(field.path, ".", ShownKey(key), ": ", ShownValue(bits),
                                      " is not accepted; the keys are up, gate, down, each one of ",
                                      field.accepted));
    }
  }
}

void CheckPipelines(const FieldDef& field, const Json& value, std::vector<std::string>& problems) {
  for (const auto& [input, config] : value.members()) {
    const std::string path = absl::StrCat(field.path, ".", ShownKey(input));
    if (!config.is_object()) {
      problems.push_back(absl::StrCat(path, ": ", ShownValue(config), " is not an object"));
      continue;
    }
    for (const auto& [key, child] : config.members()) {
      if (key == "pipeline") {
        CheckPipeline(absl::StrCat(path, ".pipeline"), child, problems);
      } else if (key == "auto_convert_format" && config.contains("autoConvertFormat")) {
        problems.push_back(
            absl::StrCat(path, ".", key, ": 'autoConvertFormat' is given in both spellings"));
      } else if ((key != "autoConvertFormat" && key != "auto_convert_format") || !child.is_bool()) {
        problems.push_back(absl::StrCat(path, ".", ShownKey(key), ": ", ShownValue(child),
                                        " is not accepted; the keys are pipeline (a list of steps) "
                                        "and autoConvertFormat (true or false)"));
      }
    }
  }
}

// {input: {pipeline, autoConvertFormat}} in camelCase; input names are no keys of ours.
Json CanonicalInputs(const Json& value) {
  Json inputs = Json::Object();
  for (const auto& [input, config] : value.members()) {
    Json canonical = Json::Object();
    for (const auto& [key, child] : config.members()) {
      canonical.Set(key == "pipeline" ? "pipeline" : "autoConvertFormat",
                    key == "pipeline" ? CanonicalPipeline(child) : child);
    }
    inputs.SetNew(input, std::move(canonical));
  }
  return inputs;
}

void CheckMethods(const FieldDef& field, const Json& value, std::vector<std::string>& problems) {
  for (const auto& [layer, method] : value.members()) {
    if (!method.is_int() || !IsAccepted(field, method)) {
      problems.push_back(absl::StrCat(field.path, ".", ShownKey(layer), ": ", ShownValue(method),
                                      " is not accepted; it takes one of ",
                                      absl::StrJoin(absl::StrSplit(field.accepted, ' '), ", ")));
    }
  }
}

bool InRange(const FieldDef& field, const Json& value) {
  return field.min > field.max ||
         (value.as_double() >= field.min && value.as_double() <= field.max);
}

// " in [0, 1]", " of at least 0", or nothing.
std::string RangeText(const FieldDef& field) {
  if (field.min > field.max) {
    return "";
  }
  const auto text = [&](double bound) {
    return field.type == FieldType::kFloat ? absl::StrCat(bound)
                                           : absl::StrCat(static_cast<int64_t>(bound));
  };
  return field.max >= kUnbounded
             ? absl::StrCat(" of at least ", text(field.min))
             : absl::StrCat(" in [", text(field.min), ", ", text(field.max), "]");
}

void CheckItems(const FieldDef& field, const Json& value, std::vector<std::string>& problems) {
  for (const Json& item : value.items()) {
    const bool good = item.is_string() ? IsAccepted(field, item) : InRange(field, item);
    if (!good) {
      problems.push_back(absl::StrCat(field.path, ": ", ShownValue(item),
                                      " is not accepted; it takes ", AcceptedText(field)));
    }
  }
}

}  // namespace

std::string ShownKey(absl::string_view key) {
  constexpr size_t kMost = 100;
  const std::string escaped = absl::CHexEscape(key.substr(0, kMost));
  return key.size() > kMost ? absl::StrCat(escaped, "...") : escaped;
}

std::string ShownValue(const Json& value) {
  constexpr size_t kMost = 120;
  if (value.is_string() && value.as_string().size() > kMost) {
    return absl::StrCat("\"", ShownKey(value.as_string()), "\"");
  }
  std::string text = value.Dump();
  if (text.size() > kMost) {
    size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
      --end;  // not within a character
    }
    text.resize(end);
    text.append("...");
  }
  return text;
}

Json CanonicalValue(const FieldDef& field, const Json& value) {
  switch (field.type) {
    case FieldType::kFloat:
      return Json(value.as_double());
    case FieldType::kPipeline:
      return CanonicalPipeline(value);
    case FieldType::kPipelines:
      return CanonicalInputs(value);
    default:
      return value;
  }
}

std::string AcceptedText(const FieldDef& field) {
  const std::string choices =
      absl::StrJoin(absl::StrSplit(field.accepted, ' ', absl::SkipEmpty()), ", ");
  switch (field.type) {
    case FieldType::kBool:
      return "true or false";
    case FieldType::kInt:
      return absl::StrCat("an integer", RangeText(field));
    case FieldType::kFloat:
      return absl::StrCat("a number", RangeText(field));
    case FieldType::kString:
      return "a string";
    case FieldType::kEnum:
      return absl::StrCat("one of ", choices);
    case FieldType::kIntChoice:
      return absl::StrCat("an integer, one of ", choices);
    case FieldType::kStringList:
      return choices.empty() ? "a list of strings" : absl::StrCat("a list out of ", choices);
    case FieldType::kIntList:
      return field.min <= field.max ? absl::StrCat("a list of integers", RangeText(field))
                                    : "a list of integers";
    case FieldType::kFfnBits:
      return absl::StrCat("one of ", choices, ", or {up, gate, down} of such");
    case FieldType::kPipeline:
      return "a list of steps {op, ...}";
    case FieldType::kPipelines:
      return "an object {input: {pipeline, autoConvertFormat}}";
    case FieldType::kMethods:
      return absl::StrCat("an object {layer: one of ", choices, "}");
    case FieldType::kAny:
      return "an object";
  }
  return "";
}

void CheckField(const FieldDef& field, const Json& value, std::vector<std::string>& problems) {
  const auto refuse = [&](const Json& what) {
    problems.push_back(absl::StrCat(field.path, ": ", ShownValue(what),
                                    " is not accepted; it takes ", AcceptedText(field)));
  };
  if (!HasType(value, field.type)) {
    refuse(value);
    return;
  }
  const bool scalar = value.is_string() || value.is_int();
  if (scalar && !IsAccepted(field, value)) {
    refuse(value);
    return;
  }
  if (value.is_number() && !InRange(field, value)) {
    refuse(value);
    return;
  }
  if (field.type == FieldType::kStringList || field.type == FieldType::kIntList) {
    CheckItems(field, value, problems);
  } else if (field.type == FieldType::kFfnBits) {
    CheckFfnBits(field, value, problems);
  } else if (field.type == FieldType::kPipeline) {
    CheckPipeline(field.path, value, problems);
  } else if (field.type == FieldType::kPipelines) {
    CheckPipelines(field, value, problems);
  } else if (field.type == FieldType::kMethods) {
    CheckMethods(field, value, problems);
  }
}

}  // namespace qb

#include "core/config/field_check.h"

#include <algorithm>

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
      problems.push_back(absl::StrCat(field.path, ".", key, ": ", bits.Dump(),
                                      " is not accepted; the keys are up, gate, down, each one of ",
                                      field.accepted));
    }
  }
}

void CheckPipelines(const FieldDef& field, const Json& value, std::vector<std::string>& problems) {
  for (const auto& [input, config] : value.members()) {
    const std::string path = absl::StrCat(field.path, ".", input);
    if (!config.is_object()) {
      problems.push_back(absl::StrCat(path, ": ", config.Dump(), " is not an object"));
      continue;
    }
    for (const auto& [key, child] : config.members()) {
      if (key == "pipeline") {
        CheckPipeline(absl::StrCat(path, ".pipeline"), child, problems);
      } else if (key != "autoConvertFormat" || !child.is_bool()) {
        problems.push_back(absl::StrCat(path, ".", key, ": ", child.Dump(),
                                        " is not accepted; the keys are pipeline (a list of steps) "
                                        "and autoConvertFormat (true or false)"));
      }
    }
  }
}

void CheckMethods(const FieldDef& field, const Json& value, std::vector<std::string>& problems) {
  for (const auto& [layer, method] : value.members()) {
    if (!method.is_int() || !IsAccepted(field, method)) {
      problems.push_back(absl::StrCat(field.path, ".", layer, ": ", method.Dump(),
                                      " is not accepted; it takes one of ",
                                      absl::StrJoin(absl::StrSplit(field.accepted, ' '), ", ")));
    }
  }
}

}  // namespace

std::string AcceptedText(const FieldDef& field) {
  const std::string choices =
      absl::StrJoin(absl::StrSplit(field.accepted, ' ', absl::SkipEmpty()), ", ");
  const bool bounded = field.min <= field.max;
  switch (field.type) {
    case FieldType::kBool:
      return "true or false";
    case FieldType::kInt:
      return bounded ? absl::StrCat("an integer in [", field.min, ", ", field.max, "]")
                     : "an integer";
    case FieldType::kFloat:
      return bounded ? absl::StrCat("a number in [", field.min, ", ", field.max, "]") : "a number";
    case FieldType::kString:
      return "a string";
    case FieldType::kEnum:
      return absl::StrCat("one of ", choices);
    case FieldType::kIntChoice:
      return absl::StrCat("an integer, one of ", choices);
    case FieldType::kStringList:
      return choices.empty() ? "a list of strings" : absl::StrCat("a list out of ", choices);
    case FieldType::kIntList:
      return "a list of integers";
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
    problems.push_back(absl::StrCat(field.path, ": ", what.Dump(), " is not accepted; it takes ",
                                    AcceptedText(field)));
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
  if (field.type == FieldType::kStringList) {
    for (const Json& item : value.items()) {
      if (!IsAccepted(field, item)) {
        refuse(item);
      }
    }
  }
  const bool bounded = field.min <= field.max && value.is_number();
  if (bounded && !(value.as_double() >= field.min && value.as_double() <= field.max)) {
    refuse(value);
    return;
  }
  if (field.type == FieldType::kFfnBits) {
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

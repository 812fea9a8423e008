#include "core/config/compile_config.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/config/config_tree.h"
#include "core/config/cross_check.h"
#include "core/config/field_check.h"
#include "core/config/schema.h"

namespace qb {
namespace {

absl::StatusOr<FlatValues> PresetValues(absl::string_view name) {
  for (const PresetInfo& preset : AllPresets()) {
    if (preset.name != name) {
      continue;
    }
    FlatValues values;
    if (!preset.extends.empty()) {
      QB_ASSIGN_OR_RETURN(values, PresetValues(preset.extends));
    }
    QB_ASSIGN_OR_RETURN(const Json tree, Json::Parse(preset.text));
    std::vector<std::string> problems;
    const FlatValues own = FlattenConfig(tree, problems);
    values.insert(values.end(), own.begin(), own.end());
    QB_CHECK_MSG(problems.empty(), "preset ", name, ": ", absl::StrJoin(problems, "; "));
    return values;
  }
  std::vector<std::string> names;
  for (const PresetInfo& preset : AllPresets()) {
    names.emplace_back(preset.name);
  }
  return Failure(
      FailureCode::kConfigError,
      absl::StrCat("there is no preset '", name, "'; accepted: ", absl::StrJoin(names, ", ")));
}

bool InReducedForm(absl::string_view path) {
  constexpr absl::string_view kLeftOut[] = {"modelPaths",
                                            "calibDataPaths",
                                            "savePaths",
                                            "device",
                                            "debug",
                                            "trace",
                                            "saveSample.apply",
                                            "saveSample.path",
                                            "saveSample.maxSamples",
                                            "resourceManagement.threads",
                                            "resourceManagement.gpuMemoryBudgetMB",
                                            "resourceManagement.cpuMemoryBudgetMB"};
  return std::find(std::begin(kLeftOut), std::end(kLeftOut), path) == std::end(kLeftOut);
}

absl::string_view GroupOf(absl::string_view section) {
  for (const ConfigGroup& group : ConfigGroups()) {
    if (std::find(group.sections.begin(), group.sections.end(), section) != group.sections.end()) {
      return group.group;
    }
  }
  return "";
}

// Objects in the making; a leaf has a value.
struct Tree {
  absl::string_view name;
  const Json* value = nullptr;
  std::vector<Tree> children;

  // The child of that name, made when there is none.
  Tree& Child(absl::string_view child_name) {
    for (Tree& child : children) {
      if (child.name == child_name) {
        return child;
      }
    }
    return children.emplace_back(Tree{child_name, nullptr, {}});
  }

  Json ToJson() const {
    if (value != nullptr) {
      return *value;
    }
    Json object = Json::Object();
    for (const Tree& child : children) {
      object.SetNew(child.name, child.ToJson());
    }
    return object;
  }
};

// A field's default, and its text to compare with: the same for every config.
struct FieldDefault {
  Json value;
  std::string text;
};
const std::vector<FieldDefault>& Defaults() {
  static const std::vector<FieldDefault> defaults = [] {
    std::vector<FieldDefault> all;
    for (const FieldDef& field : ConfigFields()) {
      absl::StatusOr<Json> value = Json::Parse(field.default_json);
      QB_CHECK_MSG(value.ok(), field.path);
      Json canonical = CanonicalValue(field, *value);
      std::string text = canonical.Dump();
      all.push_back({std::move(canonical), std::move(text)});
    }
    return all;
  }();
  return defaults;
}

// Says which value of a field has no part yet that honours it, if this is one.
bool IsRefusedYet(const FieldDef& field, const FieldDefault& fallback, const Json& value) {
  if (field.support == FieldSupport::kRefused) {
    return value.Dump() != fallback.text;
  }
  if (field.refused.empty()) {
    return false;
  }
  const std::vector<std::string> refused = absl::StrSplit(field.refused, ' ', absl::SkipEmpty());
  const auto is_refused = [&](const Json& single) {
    const std::string text = single.is_string() ? single.as_string() : single.Dump();
    return std::find(refused.begin(), refused.end(), text) != refused.end();
  };
  if (field.type != FieldType::kMethods) {
    return is_refused(value);
  }
  return std::any_of(value.members().begin(), value.members().end(),
                     [&](const Json::Member& member) { return is_refused(member.second); });
}

std::string RefusalText(const FieldDef& field, const Json& value, const std::string& origin) {
  return absl::StrCat(field.path, ": ", ShownValue(value), " is not supported yet (", origin, "); ",
                      field.support == FieldSupport::kRefused
                          ? absl::StrCat("only the default ", field.default_json, " is")
                          : absl::StrCat("what is not: ", field.refused));
}

absl::Status ProblemsStatus(FailureCode code, std::vector<std::string> problems) {
  if (problems.size() > kMostConfigProblems) {
    problems.resize(kMostConfigProblems);
  }
  return Failure(code, absl::StrJoin(problems, "\n"));
}

}  // namespace

absl::Status CompileConfig::ApplySources(const ConfigSources& sources,
                                         std::vector<std::string>& problems) {
  const auto apply = [&](const FlatValues& values, const std::string& origin) {
    for (const auto& [path, value] : values) {
      values_[path] = {value, origin};
    }
  };
  FlatValues file_values;
  if (!sources.file_text.empty()) {
    QB_ASSIGN_OR_RETURN(const Json tree, ParseConfigText(sources.file_text, sources.file_name));
    file_values = FlattenConfig(tree, problems);
  }
  if (!sources.preset.empty()) {
    QB_ASSIGN_OR_RETURN(const FlatValues preset, PresetValues(sources.preset));
    apply(preset, absl::StrCat("preset ", sources.preset));
    if (!sources.file_text.empty()) {
      warnings_.push_back(absl::StrCat("the preset '", sources.preset, "' wins: the file '",
                                       sources.file_name, "' is ignored"));
    }
  } else {
    apply(file_values, absl::StrCat("file ", sources.file_name));
  }
  for (const ConfigOverride& item : sources.overrides) {
    const FieldDef* field = FindConfigField(item.path);
    std::vector<std::string> found;
    if (field == nullptr) {
      found.push_back(absl::StrCat(item.path, ": unknown field"));
    } else {
      CheckField(*field, item.value, found);
    }
    for (const std::string& problem : found) {
      problems.push_back(absl::StrCat(problem, " (", item.origin, ")"));
    }
    if (found.empty()) {
      values_[item.path] = {CanonicalValue(*field, item.value), item.origin};
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CompileConfig> CompileConfig::Resolve(const ConfigSources& sources) {
  CompileConfig config;
  const absl::Span<const FieldDef> fields = ConfigFields();
  for (size_t i = 0; i < fields.size(); ++i) {
    config.values_[std::string(fields[i].path)] = {Defaults()[i].value, "default"};
  }
  std::vector<std::string> problems;
  QB_RETURN_IF_ERROR(config.ApplySources(sources, problems));
  Value& scheme = config.values_["inferenceScheme"];
  if (scheme.json.as_string() == "global") {
    config.warnings_.push_back("inferenceScheme: 'global' is an old name of 'global4'");
    scheme.json = Json("global4");
  }
  CheckFieldsTogether([&](absl::string_view path) -> const Json& { return config.Get(path); },
                      problems);
  for (size_t i = 0; i < fields.size() && !sources.for_dump; ++i) {
    const Value& value = config.values_[std::string(fields[i].path)];
    if (IsRefusedYet(fields[i], Defaults()[i], value.json)) {
      problems.push_back(RefusalText(fields[i], value.json, value.origin));
    }
  }
  const size_t own_problems = problems.size();
  const std::vector<std::string>& schemes = sources.target_schemes;
  if (!sources.target.empty() &&
      std::find(schemes.begin(), schemes.end(), scheme.json.as_string()) == schemes.end()) {
    problems.push_back(absl::StrCat("inferenceScheme: ", scheme.json.Dump(), " (", scheme.origin,
                                    ") is no scheme of the target ", sources.target, "; it has ",
                                    absl::StrJoin(schemes, ", ")));
  }
  if (!problems.empty()) {
    return ProblemsStatus(own_problems > 0 ? FailureCode::kConfigError : FailureCode::kTargetError,
                          std::move(problems));
  }
  return config;
}

CompileConfig CompileConfig::With(const std::vector<ConfigOverride>& found) const {
  CompileConfig config = *this;
  for (const ConfigOverride& item : found) {
    const FieldDef* field = FindConfigField(item.path);
    std::vector<std::string> problems;
    QB_CHECK_MSG(field != nullptr, "no config field ", item.path);
    CheckField(*field, item.value, problems);
    QB_CHECK_MSG(problems.empty(), absl::StrJoin(problems, "; "));
    config.values_[item.path] = {CanonicalValue(*field, item.value), item.origin};
  }
  return config;
}

std::vector<ConfigProblem> ConfigProblemsOf(const absl::Status& status) {
  std::vector<ConfigProblem> problems;
  const FailureCode code = FailureCodeOf(status);
  const bool listed = code == FailureCode::kConfigError || code == FailureCode::kTargetError;
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    const size_t colon = line.find(": ");
    const absl::string_view path = line.substr(0, colon);
    const bool has_path =
        listed && colon != absl::string_view::npos && !absl::StrContains(path, ' ');
    if (has_path) {
      problems.push_back({std::string(path), std::string(line.substr(colon + 2))});
    } else {
      problems.push_back({"", std::string(line)});
    }
  }
  return problems;
}

const Json& CompileConfig::Get(absl::string_view path) const {
  const auto found = values_.find(std::string(path));
  QB_CHECK_MSG(found != values_.end(), "no config field ", path);
  return found->second.json;
}

std::vector<std::string> CompileConfig::Strings(absl::string_view path) const {
  std::vector<std::string> strings;
  for (const Json& item : Get(path).items()) {
    strings.push_back(item.as_string());
  }
  return strings;
}

const std::string& CompileConfig::Origin(absl::string_view path) const {
  const auto found = values_.find(std::string(path));
  QB_CHECK_MSG(found != values_.end(), "no config field ", path);
  return found->second.origin;
}

Json CompileConfig::ToGroupedJson(bool reduced) const {
  Tree root;
  for (const FieldDef& field : ConfigFields()) {
    if (reduced && !InReducedForm(field.path)) {
      continue;
    }
    const std::vector<absl::string_view> parts = absl::StrSplit(field.path, '.');
    const absl::string_view group = parts.size() > 1 ? GroupOf(parts[0]) : "";
    Tree* node = group.empty() ? &root : &root.Child(group);
    for (const absl::string_view part : parts) {
      node = &node->Child(part == "equivalentTransformation" ? "EquivalentTransformation" : part);
    }
    node->value = &Get(field.path);
  }
  return root.ToJson();
}

Json CompileConfig::Origins() const {
  Json origins = Json::Object();
  for (const FieldDef& field : ConfigFields()) {
    origins.Set(field.path, Origin(field.path));
  }
  return origins;
}

}  // namespace qb

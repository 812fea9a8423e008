#include "core/config/compile_config.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/config/field_check.h"
#include "core/config/nearest.h"
#include "core/config/schema.h"

namespace qb {
namespace {

using FlatValues = std::vector<std::pair<std::string, Json>>;

bool IsSection(absl::string_view path) {
  const std::string prefix = absl::StrCat(path, ".");
  return std::any_of(ConfigFields().begin(), ConfigFields().end(), [&](const FieldDef& field) {
    return absl::StartsWith(field.path, prefix);
  });
}

std::vector<std::string> SiblingKeys(absl::string_view parent) {
  std::vector<std::string> keys;
  const std::string prefix = parent.empty() ? "" : absl::StrCat(parent, ".");
  for (const FieldDef& field : ConfigFields()) {
    if (absl::StartsWith(field.path, prefix)) {
      const std::vector<std::string> parts =
          absl::StrSplit(field.path.substr(prefix.size()), '.');
      if (std::find(keys.begin(), keys.end(), parts[0]) == keys.end()) {
        keys.push_back(parts[0]);
      }
    }
  }
  if (parent.empty()) {
    for (const ConfigGroup& group : ConfigGroups()) {
      keys.emplace_back(group.group);
    }
  }
  return keys;
}

// The camelCase spelling of `key` below `parent`, when that is how a field or section there is called in
// snake_case; else the key itself.
std::string CamelSpelling(absl::string_view parent, const std::string& key) {
  for (const std::string& candidate : SiblingKeys(parent)) {
    if (candidate != key && SnakeCase(candidate) == key) {
      return candidate;
    }
  }
  return key;
}

// Turns the tree of a file into (path, value) pairs and collects problems.
class Flattener {
 public:
  Flattener(FlatValues& values, std::vector<std::string>& problems)
      : values_(values), problems_(problems) {}

  void AddRoot(const Json& root) {
    if (!root.is_object()) {
      problems_.push_back("the file is not an object of fields");
      return;
    }
    std::vector<std::string> seen_sections;
    for (const auto& [spelled, value] : root.members()) {
      const std::string key = CamelSpelling("", spelled);
      const ConfigGroup* group = FindGroup(key);
      if (group == nullptr) {
        AddSection(key, spelled, value, seen_sections);
        continue;
      }
      for (const auto& [section, content] : value.members()) {
        const std::string flat = section == "EquivalentTransformation"
                                     ? "equivalentTransformation"
                                     : CamelSpelling("", section);
        const auto& sections = group->sections;
        if (std::find(sections.begin(), sections.end(), flat) == sections.end()) {
          Unknown(key, section, std::vector<std::string>(sections.begin(), sections.end()));
        } else {
          AddSection(flat, absl::StrCat(key, ".", section), content, seen_sections);
        }
      }
    }
  }

 private:
  static const ConfigGroup* FindGroup(absl::string_view key) {
    for (const ConfigGroup& group : ConfigGroups()) {
      if (group.group == key) {
        return &group;
      }
    }
    return nullptr;
  }

  void AddSection(const std::string& path, const std::string& spelled, const Json& value,
                  std::vector<std::string>& seen) {
    if (std::find(seen.begin(), seen.end(), path) != seen.end()) {
      problems_.push_back(
          absl::StrCat(spelled, ": '", path, "' is given in both spellings"));
      return;
    }
    seen.push_back(path);
    Add(path, value);
  }

  void Add(const std::string& path, const Json& value) {
    const FieldDef* field = FindConfigField(path);
    if (field != nullptr) {
      const size_t before = problems_.size();
      CheckField(*field, value, problems_);
      if (problems_.size() == before) {
        values_.emplace_back(path, value);
      }
      return;
    }
    const size_t dot = path.rfind('.');
    if (!IsSection(path)) {
      const std::string parent = dot == std::string::npos ? "" : path.substr(0, dot);
      const std::string key = dot == std::string::npos ? path : path.substr(dot + 1);
      Unknown(parent, key, SiblingKeys(parent));
    } else if (!value.is_object()) {
      problems_.push_back(absl::StrCat(path, ": ", value.Dump(), " is not an object of fields"));
    } else {
      std::vector<std::string> seen;
      for (const auto& [key, child] : value.members()) {
        AddSection(absl::StrCat(path, ".", CamelSpelling(path, key)),
                   absl::StrCat(path, ".", key), child, seen);
      }
    }
  }

  void Unknown(absl::string_view parent, absl::string_view key,
               const std::vector<std::string>& known) {
    const std::string path = parent.empty() ? std::string(key) : absl::StrCat(parent, ".", key);
    for (const RemovedKey& removed : RemovedConfigKeys()) {
      if (removed.key == key) {
        problems_.push_back(
            absl::StrCat(path, ": this key was removed; use ", removed.replacement));
        return;
      }
    }
    problems_.push_back(absl::StrCat(path, ": unknown key; nearest: ",
                                     absl::StrJoin(NearestNames(key, known, 3), ", ")));
  }

  FlatValues& values_;
  std::vector<std::string>& problems_;
};

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
    Flattener(values, problems).AddRoot(tree);
    QB_CHECK_MSG(problems.empty(), "preset ", name, ": ", absl::StrJoin(problems, "; "));
    return values;
  }
  std::vector<std::string> names;
  for (const PresetInfo& preset : AllPresets()) {
    names.emplace_back(preset.name);
  }
  return Failure(FailureCode::kConfigError, absl::StrCat("there is no preset '", name,
                                                         "'; accepted: ", absl::StrJoin(names, ", ")));
}

bool InReducedForm(absl::string_view path) {
  constexpr absl::string_view kLeftOut[] = {"modelPaths",
                                            "calibDataPaths",
                                            "savePaths",
                                            "device",
                                            "debug",
                                            "trace",
                                            "resourceManagement.threads",
                                            "resourceManagement.gpuMemoryBudgetMB",
                                            "resourceManagement.cpuMemoryBudgetMB"};
  return std::find(std::begin(kLeftOut), std::end(kLeftOut), path) == std::end(kLeftOut);
}

std::string GroupOf(absl::string_view section) {
  for (const ConfigGroup& group : ConfigGroups()) {
    if (std::find(group.sections.begin(), group.sections.end(), section) !=
        group.sections.end()) {
      return std::string(group.group);
    }
  }
  return "";
}

// Sets root[parts...] = value, making objects on the way.
void SetPath(Json& node, absl::Span<const std::string> parts, const Json& value) {
  if (parts.size() == 1) {
    node.Set(parts[0], value);
    return;
  }
  Json child = node[parts[0]];
  SetPath(child, parts.subspan(1), value);
  node.Set(parts[0], std::move(child));
}

}  // namespace

absl::StatusOr<CompileConfig> CompileConfig::Resolve(const ConfigSources& sources) {
  CompileConfig config;
  for (const FieldDef& field : ConfigFields()) {
    absl::StatusOr<Json> value = Json::Parse(field.default_json);
    QB_CHECK_MSG(value.ok(), field.path);
    config.values_[std::string(field.path)] = {*std::move(value), "default"};
  }
  std::vector<std::string> problems;
  const auto apply = [&](const FlatValues& values, const std::string& origin) {
    for (const auto& [path, value] : values) {
      config.values_[path] = {value, origin};
    }
  };
  FlatValues file_values;
  if (!sources.file_text.empty()) {
    QB_ASSIGN_OR_RETURN(const Json tree, ParseConfigText(sources.file_text, sources.file_name));
    Flattener(file_values, problems).AddRoot(tree);
  }
  if (!sources.preset.empty()) {
    QB_ASSIGN_OR_RETURN(const FlatValues preset, PresetValues(sources.preset));
    apply(preset, absl::StrCat("preset ", sources.preset));
    if (!file_values.empty()) {
      config.warnings_.push_back(absl::StrCat("the preset '", sources.preset,
                                              "' wins: the file '", sources.file_name,
                                              "' is ignored"));
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
      problems.push_back(absl::StrCat(item.origin, ": ", problem));
    }
    if (found.empty()) {
      config.values_[item.path] = {item.value, item.origin};
    }
  }
  for (const FieldDef& field : ConfigFields()) {
    const Value& value = config.values_[std::string(field.path)];
    if (!sources.for_dump && field.support == FieldSupport::kRefused &&
        value.json.Dump() != Json::Parse(field.default_json)->Dump()) {
      problems.push_back(absl::StrCat(field.path, ": ", value.json.Dump(),
                                      " is not supported yet (", value.origin,
                                      "); only the default ", field.default_json, " is"));
    }
  }
  if (!problems.empty()) {
    return Failure(FailureCode::kConfigError, absl::StrJoin(problems, "\n"));
  }
  Value& scheme = config.values_["inferenceScheme"];
  if (scheme.json.as_string() == "global") {
    config.warnings_.push_back("inferenceScheme: 'global' is an old name of 'global4'");
    scheme.json = Json("global4");
  }
  return config;
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
  Json root = Json::Object();
  for (const FieldDef& field : ConfigFields()) {
    if (reduced && !InReducedForm(field.path)) {
      continue;
    }
    std::vector<std::string> parts = absl::StrSplit(field.path, '.');
    const std::string group = parts.size() > 1 ? GroupOf(parts[0]) : "";
    if (parts[0] == "equivalentTransformation") {
      parts[0] = "EquivalentTransformation";
    }
    if (!group.empty()) {
      parts.insert(parts.begin(), group);
    }
    SetPath(root, parts, Get(field.path));
  }
  return root;
}

Json CompileConfig::Origins() const {
  Json origins = Json::Object();
  for (const FieldDef& field : ConfigFields()) {
    origins.Set(field.path, Origin(field.path));
  }
  return origins;
}

}  // namespace qb

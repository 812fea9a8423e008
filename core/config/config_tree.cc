#include "core/config/config_tree.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

#include "core/base/spelling.h"
#include "core/config/field_check.h"
#include "core/config/schema.h"

namespace qb {
namespace {

bool IsSection(absl::string_view path) {
  const std::string prefix = absl::StrCat(path, ".");
  return std::any_of(ConfigFields().begin(), ConfigFields().end(),
                     [&](const FieldDef& field) { return absl::StartsWith(field.path, prefix); });
}

std::vector<std::string> SiblingKeys(absl::string_view parent) {
  std::vector<std::string> keys;
  const std::string prefix = parent.empty() ? "" : absl::StrCat(parent, ".");
  for (const FieldDef& field : ConfigFields()) {
    if (!absl::StartsWith(field.path, prefix)) {
      continue;
    }
    const absl::string_view rest = field.path.substr(prefix.size());
    const std::string key(rest.substr(0, rest.find('.')));
    // Fields of one section stand together in the table.
    if (keys.empty() || keys.back() != key) {
      keys.push_back(key);
    }
  }
  if (parent.empty()) {
    for (const ConfigGroup& group : ConfigGroups()) {
      keys.emplace_back(group.group);
    }
  }
  return keys;
}

// The camelCase spelling of `key` below `parent`, when that is how a field or section there is
// called in snake_case; else the key itself.
std::string CamelSpelling(absl::string_view parent, const std::string& key) {
  for (const std::string& candidate : SiblingKeys(parent)) {
    if (candidate != key && SnakeCase(candidate) == key) {
      return candidate;
    }
  }
  return key;
}

const ConfigGroup* FindGroup(absl::string_view key) {
  for (const ConfigGroup& group : ConfigGroups()) {
    if (group.group == key) {
      return &group;
    }
  }
  return nullptr;
}

class Flattener {
 public:
  Flattener(FlatValues& values, std::vector<std::string>& problems)
      : values_(values), problems_(problems) {}

  void AddRoot(const Json& root) {
    for (const auto& [spelled, value] : root.members()) {
      if (Full()) {
        return;
      }
      const std::string key = CamelSpelling("", spelled);
      const ConfigGroup* group = FindGroup(key);
      // A dot in a key would reach into a section.
      if (absl::StrContains(key, '.')) {
        Unknown("", spelled, SiblingKeys(""));
      } else if (group == nullptr) {
        AddOnce(key, ShownKey(spelled), value);
      } else if (!value.is_object()) {
        NotAnObject(spelled, value);
      } else {
        AddGroup(*group, value);
      }
    }
  }

 private:
  bool Full() const { return problems_.size() >= kMostConfigProblems; }

  void AddGroup(const ConfigGroup& group, const Json& sections) {
    for (const auto& [section, content] : sections.members()) {
      if (Full()) {
        return;
      }
      const std::string flat = section == "EquivalentTransformation" ? "equivalentTransformation"
                                                                     : CamelSpelling("", section);
      if (std::find(group.sections.begin(), group.sections.end(), flat) == group.sections.end()) {
        Unknown(group.group, section,
                std::vector<std::string>(group.sections.begin(), group.sections.end()));
      } else {
        AddOnce(flat, absl::StrCat(group.group, ".", section), content);
      }
    }
  }

  void AddOnce(const std::string& path, const std::string& spelled, const Json& value) {
    if (!seen_.insert(path).second) {
      problems_.push_back(
          absl::StrCat(spelled, ": '", ShownKey(path), "' is given in both spellings"));
      return;
    }
    Add(path, value);
  }

  void Add(const std::string& path, const Json& value) {
    const FieldDef* field = FindConfigField(path);
    if (field != nullptr) {
      const size_t before = problems_.size();
      CheckField(*field, value, problems_);
      if (problems_.size() == before) {
        values_.emplace_back(path, CanonicalValue(*field, value));
      }
      return;
    }
    if (!IsSection(path)) {
      const size_t dot = path.rfind('.');
      const std::string parent = dot == std::string::npos ? "" : path.substr(0, dot);
      Unknown(parent, dot == std::string::npos ? path : path.substr(dot + 1), SiblingKeys(parent));
      return;
    }
    if (!value.is_object()) {
      NotAnObject(path, value);
      return;
    }
    for (const auto& [key, child] : value.members()) {
      if (Full()) {
        return;
      }
      if (absl::StrContains(key, '.')) {
        Unknown(path, key, SiblingKeys(path));
      } else {
        AddOnce(absl::StrCat(path, ".", CamelSpelling(path, key)),
                absl::StrCat(path, ".", ShownKey(key)), child);
      }
    }
  }

  void NotAnObject(absl::string_view path, const Json& value) {
    problems_.push_back(absl::StrCat(path, ": ", ShownValue(value), " is not an object of fields"));
  }

  void Unknown(absl::string_view parent, absl::string_view key,
               const std::vector<std::string>& known) {
    const std::string path =
        parent.empty() ? ShownKey(key) : absl::StrCat(parent, ".", ShownKey(key));
    for (const RemovedKey& removed : RemovedConfigKeys()) {
      if (removed.key == key || SnakeCase(removed.key) == key) {
        problems_.push_back(
            absl::StrCat(path, ": this key was removed; use ", removed.replacement));
        return;
      }
    }
    problems_.push_back(absl::StrCat(
        path, ": unknown key; nearest: ", absl::StrJoin(NearestWords(key, known, 3), ", ")));
  }

  FlatValues& values_;
  std::vector<std::string>& problems_;
  std::set<std::string> seen_;
};

}  // namespace

FlatValues FlattenConfig(const Json& root, std::vector<std::string>& problems) {
  FlatValues values;
  if (!root.is_object()) {
    problems.push_back("the file is not an object of fields");
    return values;
  }
  Flattener(values, problems).AddRoot(root);
  return values;
}

}  // namespace qb

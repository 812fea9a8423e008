// CompileConfig: the resolved settings of one compile, and where each value came from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/json.h"

namespace qb {

// One value set outside the file: a flag or an API argument. Its origin reads e.g. "--device".
struct ConfigOverride {
  std::string path;
  Json value;
  std::string origin;
};

struct ConfigSources {
  std::string preset;     // empty: none
  std::string file_text;  // JSON or YAML; empty: none
  std::string file_name;  // for messages
  std::vector<ConfigOverride> overrides;
  // The device that the settings are for, and the inference schemes it has; empty: not checked.
  std::string target;
  std::vector<std::string> target_schemes;
  // The values are only shown, not used: fields whose part does not exist yet are accepted.
  bool for_dump = false;
};

// Immutable after Resolve. Thread-safe to read.
class CompileConfig {
 public:
  // Precedence: override > preset (the file is then ignored, said in warnings()) > file > default.
  // Errors: CONFIG_ERROR listing every problem, a line each (ConfigProblemsOf takes it apart);
  // TARGET_ERROR when the target has not the inference scheme and that is all.
  static absl::StatusOr<CompileConfig> Resolve(const ConfigSources& sources);

  // Precondition: `path` is in the schema.
  const Json& Get(absl::string_view path) const;
  bool Bool(absl::string_view path) const { return Get(path).as_bool(); }
  int64_t Int(absl::string_view path) const { return Get(path).as_int(); }
  double Float(absl::string_view path) const { return Get(path).as_double(); }
  const std::string& String(absl::string_view path) const { return Get(path).as_string(); }
  std::vector<std::string> Strings(absl::string_view path) const;
  // "default", "preset classification", "file x.yaml", or an override's origin.
  const std::string& Origin(absl::string_view path) const;

  const std::vector<std::string>& warnings() const { return warnings_; }

  // A copy in which some fields have other values: what a search found, written down as settings.
  // Precondition: the fields exist and take the values.
  CompileConfig With(const std::vector<ConfigOverride>& found) const;

  // The grouped spelling, fields in schema order. `reduced` leaves out what must not change the
  // output's bytes: paths, device, threads, memory budgets, debug and trace.
  Json ToGroupedJson(bool reduced = false) const;
  // {path: origin} of every field.
  Json Origins() const;

 private:
  // Errors: a text that cannot be read, an unknown preset; other problems are appended.
  absl::Status ApplySources(const ConfigSources& sources, std::vector<std::string>& problems);

  struct Value {
    Json json;
    std::string origin;
  };
  std::map<std::string, Value, std::less<>> values_;
  std::vector<std::string> warnings_;
};

// One thing that is wrong with a config: where, and what was found and what is accepted.
struct ConfigProblem {
  std::string path;  // empty: the text as a whole
  std::string text;
};
// The problems that a status of Resolve lists; one without a path for other statuses.
std::vector<ConfigProblem> ConfigProblemsOf(const absl::Status& status);

struct PresetInfo {
  absl::string_view name;
  absl::string_view extends;  // empty: none
  absl::string_view text;     // JSON, flat spelling
  absl::string_view meaning;
};
absl::Span<const PresetInfo> AllPresets();

// JSON when the first character that is no space is '{', otherwise YAML: at most 1 MiB, 64 levels
// and 50 000 values. YAML anchors and aliases are read; tags and merge keys (<<), which would hide
// what a file says, are refused. Errors: CONFIG_ERROR with line and column.
absl::StatusOr<Json> ParseConfigText(absl::string_view text, absl::string_view file_name);
// YAML of plain objects, lists and scalars; ParseConfigText reads it back.
std::string JsonToYaml(const Json& value);

}  // namespace qb

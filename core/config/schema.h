// The one list of CompileConfig fields. Loading, validation, dumping and documentation read it.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace qb {

enum class FieldType {
  kBool,
  kInt,
  kFloat,
  kString,
  kEnum,        // a string out of `accepted`
  kIntChoice,   // an integer out of `accepted`
  kStringList,
  kIntList,
  kAny,         // object or list that its own part checks
};

enum class FieldSupport {
  kHonoured,  // has its effect
  kRecorded,  // metadata: kept in the output, changes nothing
  kRefused,   // only the default is accepted: the part does not exist yet
};

struct FieldDef {
  absl::string_view path;       // camelCase, dots between levels
  FieldType type;
  absl::string_view default_json;
  double min;                   // of kInt and kFloat; min > max means unbounded
  double max;
  absl::string_view accepted;   // space-separated, of kEnum and kIntChoice
  FieldSupport support;
  absl::string_view meaning;    // one line, with the unit
};

absl::Span<const FieldDef> ConfigFields();
// Null when there is no such field.
const FieldDef* FindConfigField(absl::string_view path);

// Keys that older releases of the reference knew, with what replaces them.
struct RemovedKey {
  absl::string_view key;
  absl::string_view replacement;
};
absl::Span<const RemovedKey> RemovedConfigKeys();

// The grouped spelling: `group` holds `sections` one level deeper.
struct ConfigGroup {
  absl::string_view group;
  absl::Span<const absl::string_view> sections;
};
absl::Span<const ConfigGroup> ConfigGroups();

}  // namespace qb

// The one list of CompileConfig fields. Loading, validation, dumping and documentation read it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace qb {

enum class FieldType {
  kBool,
  kInt,
  kFloat,
  kString,
  kEnum,       // a string out of `accepted`
  kIntChoice,  // an integer out of `accepted`
  kStringList,
  kIntList,
  kFfnBits,    // an integer out of `accepted`, or {up, gate, down} of such
  kPipeline,   // a list of preprocessing steps (pipeline_steps.h)
  kPipelines,  // {input name: {pipeline, autoConvertFormat}}
  kMethods,    // {layer name or glob: integer out of `accepted`}
  kAny,        // a free-form object
};

enum class FieldSupport {
  kHonoured,  // has its effect
  kRecorded,  // metadata, kept in the output; or a detail of something that is refused as a whole
  kRefused,   // only the default is accepted: the part does not exist yet
};

struct FieldDef {
  absl::string_view path;  // camelCase, dots between levels
  FieldType type;
  absl::string_view default_json;
  double min;                  // of kInt, kFloat and items of kIntList; min > max: any
  double max;                  // kUnbounded: only `min` counts
  absl::string_view accepted;  // space-separated, of kEnum and kIntChoice
  FieldSupport support;
  absl::string_view meaning;       // one line, with the unit
  absl::string_view refused = "";  // space-separated: accepted values whose part does not exist yet
};

inline constexpr double kUnbounded = 9007199254740992.0;  // 2^53

absl::Span<const FieldDef> ConfigFields();
// Null when there is no such field.
const FieldDef* FindConfigField(absl::string_view path);

// The name of one level in the Python API: camelCase -> snake_case, with the API's own names for a
// few (calibDataPaths is calib_data_path). Files may use either spelling.
std::string SnakeCase(absl::string_view camel_case);
// The same of every level of a path.
std::string SnakePath(absl::string_view path);

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

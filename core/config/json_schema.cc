#include "core/config/json_schema.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/config/compile_config.h"
#include "core/config/field_check.h"
#include "core/config/pipeline_steps.h"
#include "core/config/schema.h"

namespace qb {
namespace {

Json Typed(const char* type) { return Json::Object().Set("type", type); }

Json Choices(absl::string_view accepted, bool integers) {
  Json list = Json::Array();
  for (const absl::string_view choice : absl::StrSplit(accepted, ' ', absl::SkipEmpty())) {
    if (integers) {
      list.Append(*Json::Parse(choice));
    } else {
      list.Append(Json(choice));
    }
  }
  return list;
}

Json KeySchema(const StepKey& key) {
  if (key.type == "size" || key.type == "offset") {
    return Typed("integer").Set("minimum", key.type == "size" ? 1 : 0).Set("maximum", 65536);
  }
  if (key.type == "choice") {
    return Typed("integer").Set("enum", Choices(key.accepted, true));
  }
  if (key.type == "number") {
    return Typed("number");
  }
  if (key.type == "bool") {
    return Typed("boolean");
  }
  if (key.type == "numbers") {
    return Typed("array").Set("items", Typed("number")).Set("minItems", 1);
  }
  return Typed("string").Set("enum", Choices(key.accepted, false));
}

Json PipelineSchema() {
  Json steps = Json::Array();
  for (const StepDef& step : AllSteps()) {
    Json properties = Json::Object();
    properties.Set("op", Json::Object().Set("const", step.op));
    Json required = Json::Array().Append(Json("op"));
    for (const StepKey& key : step.keys) {
      properties.Set(key.key, KeySchema(key));
      if (key.required) {
        required.Append(Json(key.key));
      }
    }
    steps.Append(Typed("object")
                     .Set("properties", std::move(properties))
                     .Set("required", std::move(required))
                     .Set("additionalProperties", false));
  }
  return Typed("array").Set("items", Json::Object().Set("oneOf", std::move(steps)));
}

Json IntChoiceSchema(const FieldDef& field) {
  return Typed("integer").Set("enum", Choices(field.accepted, true));
}

Json NumberSchema(const FieldDef& field) {
  Json schema = Typed(field.type == FieldType::kInt ? "integer" : "number");
  if (field.min > field.max) {
    return schema;
  }
  const auto bound = [&](double value) {
    return field.type == FieldType::kInt ? Json(static_cast<int64_t>(value)) : Json(value);
  };
  schema.Set("minimum", bound(field.min));
  if (field.max < kUnbounded) {
    schema.Set("maximum", bound(field.max));
  }
  return schema;
}

Json FfnBitsSchema(const FieldDef& field) {
  Json properties = Json::Object();
  for (const char* key : {"up", "gate", "down"}) {
    properties.Set(key, IntChoiceSchema(field));
  }
  Json parts =
      Typed("object").Set("properties", std::move(properties)).Set("additionalProperties", false);
  return Json::Object().Set("oneOf",
                            Json::Array().Append(IntChoiceSchema(field)).Append(std::move(parts)));
}

Json TypeSchema(const FieldDef& field) {
  switch (field.type) {
    case FieldType::kBool:
      return Typed("boolean");
    case FieldType::kInt:
    case FieldType::kFloat:
      return NumberSchema(field);
    case FieldType::kString:
      return Typed("string");
    case FieldType::kEnum:
      return Typed("string").Set("enum", Choices(field.accepted, false));
    case FieldType::kIntChoice:
      return IntChoiceSchema(field);
    case FieldType::kStringList: {
      Json items = Typed("string");
      if (!field.accepted.empty()) {
        items.Set("enum", Choices(field.accepted, false));
      }
      return Typed("array").Set("items", std::move(items));
    }
    case FieldType::kIntList:
      return Typed("array").Set(
          "items", field.min > field.max
                       ? Typed("integer")
                       : Typed("integer").Set("minimum", static_cast<int64_t>(field.min)));
    case FieldType::kFfnBits:
      return FfnBitsSchema(field);
    case FieldType::kPipeline:
      return PipelineSchema();
    case FieldType::kPipelines:
      return Typed("object").Set(
          "additionalProperties",
          Typed("object")
              .Set("properties", Json::Object()
                                     .Set("pipeline", PipelineSchema())
                                     .Set("autoConvertFormat", Typed("boolean")))
              .Set("additionalProperties", false));
    case FieldType::kMethods:
      return Typed("object").Set("additionalProperties", IntChoiceSchema(field));
    case FieldType::kAny:
      return Typed("object");
  }
  return Json::Object();
}

// Puts `leaf` at parts[0].parts[1]... below `node`, an object schema.
void Insert(Json& node, absl::Span<const std::string> parts, Json leaf) {
  Json properties = node["properties"].is_object() ? node["properties"] : Json::Object();
  if (parts.size() == 1) {
    properties.Set(parts[0], std::move(leaf));
  } else {
    Json child =
        properties[parts[0]].is_object()
            ? properties[parts[0]]
            : Typed("object").Set("properties", Json::Object()).Set("additionalProperties", false);
    Insert(child, parts.subspan(1), std::move(leaf));
    properties.Set(parts[0], std::move(child));
  }
  node.Set("properties", std::move(properties));
}

std::string MarkdownCell(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}});
}

std::string SupportText(const FieldDef& field) {
  switch (field.support) {
    case FieldSupport::kHonoured:
      return field.refused.empty()
                 ? "yes"
                 : absl::StrCat("yes; not yet: ",
                                absl::StrReplaceAll(field.refused, {{" ", ", "}}));
    case FieldSupport::kRecorded:
      return "recorded";
    case FieldSupport::kRefused:
      return "not yet: only the default is accepted";
  }
  return "";
}

}  // namespace

Json ConfigJsonSchema() {
  Json schema = Json::Object();
  schema.Set("$schema", "https://json-schema.org/draft/2020-12/schema");
  schema.Set("title", "CompileConfig");
  schema.Set("type", "object").Set("properties", Json::Object());
  schema.Set("additionalProperties", false);
  for (const FieldDef& field : ConfigFields()) {
    Json leaf = TypeSchema(field);
    leaf.Set("description", field.meaning);
    absl::StatusOr<Json> value = Json::Parse(field.default_json);
    QB_CHECK_MSG(value.ok(), field.path);
    leaf.Set("default", *std::move(value));
    std::vector<std::string> parts = absl::StrSplit(field.path, '.');
    Insert(schema, parts, leaf);
    for (const ConfigGroup& group : ConfigGroups()) {
      if (std::find(group.sections.begin(), group.sections.end(), parts[0]) ==
          group.sections.end()) {
        continue;
      }
      parts.insert(parts.begin(), std::string(group.group));
      Insert(schema, parts, leaf);
      if (parts[1] == "equivalentTransformation") {
        parts[1] = "EquivalentTransformation";
        Insert(schema, parts, leaf);
      }
      break;
    }
  }
  return schema;
}

// The keys of each preprocessing step.
std::string StepsSection() {
  std::string text =
      "\n## Preprocessing steps\n\nA step is `{\"op\": NAME, ...}`; each accepts only its own "
      "keys.\n\n"
      "| op | key | default | accepts |\n|---|---|---|---|\n";
  for (const StepDef& step : AllSteps()) {
    for (const StepKey& key : step.keys) {
      absl::StrAppend(&text, "| `", step.op, "` | `", key.key, "` | ",
                      key.required           ? "required"
                      : key.fallback.empty() ? std::string("-")
                                             : absl::StrCat("`", key.fallback, "`"),
                      " | ", AcceptedStepText(key), " |\n");
    }
  }
  absl::StrAppend(
      &text,
      "\n`resize` takes `size` (the shortest side), or `height` and `width`; `size` wins. Modes by "
      "backend: torch nearest, bilinear, bicubic, area; pil nearest, bilinear, bicubic, lanczos; "
      "opencv all. `alignCorners` and `antialias` are torch's. `alignType` 0 is centred, 1 top "
      "left.\n");
  return text;
}

std::string ConfigReferencePage() {
  std::string page =
      "# CompileConfig\n\n"
      "Written by `qbcompiler dump-config --reference` from the field table in "
      "`core/config/schema.cc`; a test fails when it is stale.\n\n"
      "A file is YAML or JSON. Keys are camelCase as below or snake_case; unknown keys are errors. "
      "The sections under *quantization* and *advancedQuantization* may be written inside these "
      "groups or without them. Column *in effect*: `recorded` fields are kept in the output and "
      "change nothing yet.\n";
  std::string section = "-";
  for (const FieldDef& field : ConfigFields()) {
    const size_t dot = field.path.find('.');
    const std::string own(dot == absl::string_view::npos ? "" : field.path.substr(0, dot));
    if (own != section) {
      section = own;
      absl::StrAppend(&page, "\n## ", own.empty() ? "Top level" : own,
                      "\n\n| key | in Python | default | accepts | meaning | in effect |\n"
                      "|---|---|---|---|---|---|\n");
    }
    const absl::string_view key =
        dot == absl::string_view::npos ? field.path : field.path.substr(dot + 1);
    absl::StrAppend(&page, "| `", key, "` | `", SnakePath(key), "` | `",
                    MarkdownCell(field.default_json), "` | ", MarkdownCell(AcceptedText(field)),
                    " | ", MarkdownCell(field.meaning), " | ", SupportText(field), " |\n");
  }
  absl::StrAppend(&page, StepsSection());
  absl::StrAppend(&page, "\n## Presets\n\n| preset | extends | for |\n|---|---|---|\n");
  for (const PresetInfo& preset : AllPresets()) {
    absl::StrAppend(&page, "| `", preset.name, "` | ",
                    preset.extends.empty() ? "-" : preset.extends, " | ", preset.meaning, " |\n");
  }
  absl::StrAppend(&page, "\n## Removed keys\n\n| key | use |\n|---|---|\n");
  for (const RemovedKey& removed : RemovedConfigKeys()) {
    absl::StrAppend(&page, "| `", removed.key, "` | ", removed.replacement, " |\n");
  }
  return page;
}

}  // namespace qb

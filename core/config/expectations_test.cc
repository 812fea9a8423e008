// Every field against tests/testdata/config_expectations.json, which was written from the contract
// and not from the field table: a field that is lost or changes its meaning shows here.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/config/compile_config.h"
#include "core/config/pipeline_steps.h"
#include "core/config/schema.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

Json Expectations() {
  const absl::StatusOr<std::string> text = ReadFile("tests/testdata/config_expectations.json");
  QB_EXPECT_OK(text);
  const absl::StatusOr<Json> json = Json::Parse(*text);
  QB_EXPECT_OK(json);
  return *json;
}

// {a: {b: value}} of "a.b".
Json Tree(absl::string_view path, const Json& value) {
  std::vector<std::string> levels = absl::StrSplit(path, '.');
  Json tree = value;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    tree = Json::Object().Set(*level, std::move(tree));
  }
  return tree;
}

absl::StatusOr<CompileConfig> Load(const std::string& text) {
  return CompileConfig::Resolve(
      ConfigSources{.file_text = text, .file_name = "f", .for_dump = true});
}

// Every spelling of a file that sets one field: names x grouping x language.
std::vector<std::string> Spellings(const Json& row, const Json& value) {
  std::vector<std::string> texts;
  const std::string& path = row["path"].as_string();
  const std::string section = path.substr(0, path.find('.'));
  std::vector<std::pair<std::string, std::string>> prefixed = {{"", path},
                                                               {"", row["snake"].as_string()}};
  for (const ConfigGroup& group : ConfigGroups()) {
    if (std::find(group.sections.begin(), group.sections.end(), section) != group.sections.end()) {
      prefixed.emplace_back(std::string(group.group), path);
      prefixed.emplace_back(SnakeCase(group.group), row["snake"].as_string());
      if (section == "equivalentTransformation") {  // how the reference writes it in a group
        prefixed.emplace_back(std::string(group.group), absl::StrCat("E", path.substr(1)));
      }
    }
  }
  for (const auto& [group, name] : prefixed) {
    const Json tree = Tree(group.empty() ? name : absl::StrCat(group, ".", name), value);
    texts.push_back(tree.Dump());
    texts.push_back(JsonToYaml(tree));
  }
  return texts;
}

absl::string_view TypeName(FieldType type) {
  switch (type) {
    case FieldType::kBool:
      return "bool";
    case FieldType::kInt:
      return "int";
    case FieldType::kFloat:
      return "float";
    case FieldType::kString:
      return "string";
    case FieldType::kEnum:
      return "enum";
    case FieldType::kIntChoice:
      return "int_choice";
    case FieldType::kStringList:
      return "strings";
    case FieldType::kIntList:
      return "ints";
    case FieldType::kFfnBits:
      return "ffn_bits";
    case FieldType::kPipeline:
      return "steps";
    case FieldType::kPipelines:
      return "steps_by_input";
    case FieldType::kMethods:
      return "methods";
    case FieldType::kAny:
      return "object";
  }
  return "";
}

TEST(ConfigExpectations, TheTwoListsHaveTheSameFields) {
  const Json expectations = Expectations();
  std::set<std::string> expected, known;
  for (const Json& row : expectations["fields"].items()) {
    EXPECT_TRUE(expected.insert(row["path"].as_string()).second) << row["path"].as_string();
  }
  for (const FieldDef& field : ConfigFields()) {
    known.insert(std::string(field.path));
  }
  EXPECT_EQ(known, expected);
}

TEST(ConfigExpectations, TypesDefaultsNamesAndChoices) {
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig defaults, CompileConfig::Resolve({}));
  const Json expectations = Expectations();
  for (const Json& row : expectations["fields"].items()) {
    const std::string& path = row["path"].as_string();
    const FieldDef* field = FindConfigField(path);
    ASSERT_NE(field, nullptr) << path;
    EXPECT_EQ(TypeName(field->type), row["type"].as_string()) << path;
    EXPECT_EQ(SnakePath(path), row["snake"].as_string());
    EXPECT_EQ(defaults.Get(path).Dump(), row["default"].Dump()) << path;
    if (row.contains("choices")) {
      std::set<std::string> choices;
      for (const Json& choice : row["choices"].items()) {
        choices.insert(choice.is_string() ? choice.as_string() : choice.Dump());
      }
      EXPECT_EQ(std::set<std::string>(absl::StrSplit(field->accepted, ' ')), choices) << path;
    }
  }
}

TEST(ConfigExpectations, ValidValuesLoadInEverySpelling) {
  const Json expectations = Expectations();
  const std::set<std::string> needs_another = {"loadScale.apply", "extraOutput.apply",
                                               "equivalentTransformation.HeadOutChRotation.apply"};
  for (const Json& row : expectations["fields"].items()) {
    const std::string& path = row["path"].as_string();
    ASSERT_NE(row["valid"].Dump(), row["default"].Dump()) << path;
    for (const std::string& text : Spellings(row, row["valid"])) {
      if (needs_another.contains(path)) {
        EXPECT_THAT(Load(text),
                    testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs it")));
        continue;
      }
      QB_ASSERT_OK_AND_ASSIGN(const CompileConfig config, Load(text));
      EXPECT_EQ(config.Get(path).Dump(), row["valid"].Dump()) << text;
      EXPECT_EQ(config.Origin(path), "file f") << text;
    }
  }
}

TEST(ConfigExpectations, InvalidValuesAreRefusedInEverySpelling) {
  const Json expectations = Expectations();
  for (const Json& row : expectations["fields"].items()) {
    const std::string& path = row["path"].as_string();
    for (const std::string& text : Spellings(row, row["invalid"])) {
      const absl::StatusOr<CompileConfig> config = Load(text);
      EXPECT_EQ(FailureCodeOf(config.status()), FailureCode::kConfigError) << text;
      const std::vector<ConfigProblem> problems = ConfigProblemsOf(config.status());
      ASSERT_EQ(problems.size(), 1u) << text << config.status();
      EXPECT_THAT(problems[0].path, HasSubstr(path));
      EXPECT_THAT(problems[0].text, HasSubstr(row["error"].as_string()));
    }
  }
}

TEST(ConfigExpectations, AnUnknownNeighbourOfEachFieldIsRefused) {
  for (const FieldDef& field : ConfigFields()) {
    const std::string wrong = absl::StrCat(field.path, "x");
    const absl::Status status = Load(Tree(wrong, Json(1)).Dump()).status();
    ASSERT_FALSE(status.ok()) << wrong;
    const std::vector<std::string> levels = absl::StrSplit(field.path, '.');
    EXPECT_THAT(std::string(status.message()),
                ::testing::AllOf(HasSubstr("unknown key; nearest: "), HasSubstr(levels.back())));
  }
}

// {"preprocessing": {"pipeline": [step]}}, as JSON and as YAML.
std::vector<std::string> PipelineTexts(const Json& step) {
  const Json tree = Tree("preprocessing.pipeline", Json::Array().Append(step));
  return {tree.Dump(), JsonToYaml(tree)};
}

// The row's step with `key` set to `value`, in both spellings of operator and key.
std::vector<std::string> StepTexts(const Json& row, const Json& key, const Json& value) {
  std::vector<std::string> texts;
  for (const char* spelling : {"camel", "snake"}) {
    const bool snake = spelling[0] == 's';
    Json step = Json::Object().Set("op", row[snake ? "snake" : "op"]);
    for (const auto& [name, base] : row["base"].members()) {
      step.Set(name, base);
    }
    step.Set(key[snake ? "snake" : "key"].as_string(), value);
    for (std::string& text : PipelineTexts(step)) {
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

TEST(StepExpectations, TheTwoListsHaveTheSameKeysAndDefaults) {
  const Json expectations = Expectations();
  std::map<std::string, std::string> expected, known;  // "op.key" -> default
  for (const Json& row : expectations["steps"].items()) {
    for (const Json& key : row["keys"].items()) {
      expected[absl::StrCat(row["op"].as_string(), ".", key["key"].as_string())] =
          key["default"].Dump();
    }
  }
  for (const StepDef& step : AllSteps()) {
    for (const StepKey& key : step.keys) {
      known[absl::StrCat(step.op, ".", key.key)] = key.required ? "\"required\""
                                                   : key.fallback.empty()
                                                       ? "null"
                                                       : std::string(key.fallback);
    }
  }
  EXPECT_EQ(known, expected);
}

TEST(StepExpectations, ValidValuesLoadAndInvalidOnesDoNot) {
  const Json expectations = Expectations();
  for (const Json& row : expectations["steps"].items()) {
    for (const Json& key : row["keys"].items()) {
      for (const std::string& text : StepTexts(row, key, key["valid"])) {
        QB_ASSERT_OK_AND_ASSIGN(const CompileConfig config, Load(text));
        const Json& step = config.Get("preprocessing.pipeline").items()[0];
        EXPECT_EQ(step["op"].as_string(), row["op"].as_string()) << text;
        EXPECT_EQ(step[key["key"].as_string()].Dump(), key["valid"].Dump()) << text;
      }
      for (const std::string& text : StepTexts(row, key, key["invalid"])) {
        const std::vector<ConfigProblem> problems = ConfigProblemsOf(Load(text).status());
        ASSERT_EQ(problems.size(), 1u) << text;
        EXPECT_THAT(problems[0].path, HasSubstr("preprocessing.pipeline[0].")) << text;
        EXPECT_THAT(problems[0].text, HasSubstr(key["error"].as_string())) << text;
      }
    }
  }
}

TEST(StepExpectations, RequiredKeysAndUnknownKeysAreTold) {
  const Json expectations = Expectations();
  for (const Json& row : expectations["steps"].items()) {
    Json unknown = Json::Object().Set("op", row["op"]);
    for (const auto& [name, base] : row["base"].members()) {
      unknown.Set(name, base);
    }
    for (const Json& key : row["keys"].items()) {
      if (key["default"].as_string() != "required") {
        continue;
      }
      Json without = Json::Object();
      for (const auto& [name, value] : unknown.members()) {
        if (name != key["key"].as_string()) {
          without.Set(name, value);
        }
      }
      EXPECT_THAT(std::string(Load(PipelineTexts(without)[0]).status().message()),
                  HasSubstr(absl::StrCat("needs ", key["key"].as_string())));
    }
    unknown.Set("colour", 1);
    EXPECT_THAT(std::string(Load(PipelineTexts(unknown)[0]).status().message()),
                HasSubstr("colour: unknown key of " + row["op"].as_string()));
  }
}

}  // namespace
}  // namespace qb

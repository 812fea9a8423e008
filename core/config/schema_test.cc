// What the field table promises about each field is true: honoured, refused, or only recorded.
#include "core/config/schema.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/config/compile_config.h"

namespace qb {
namespace {

// Fields that change nothing by their nature. Every other recorded field must be a detail of
// something that is refused as a whole.
const std::set<absl::string_view>& Metadata() {
  static const auto* fields = new std::set<absl::string_view>(
      {"dtype", "configVersion", "runtimeOptions.version", "llm.attributes.debug",
       // No GPU memory is used: any budget holds.
       "resourceManagement.gpuMemoryBudgetMB"});
  return *fields;
}

// The switch that a field is a detail of: "x.apply" beside it or above it, or a choice of another
// field. Null when there is none.
const FieldDef* SwitchOf(absl::string_view path) {
  if (absl::StartsWith(path, "calibration.histogram.")) {
    return FindConfigField("calibration.mode");
  }
  for (size_t dot = path.rfind('.'); dot != absl::string_view::npos;
       dot = path.substr(0, dot).rfind('.')) {
    const FieldDef* field = FindConfigField(absl::StrCat(path.substr(0, dot), ".apply"));
    if (field != nullptr) {
      return field;
    }
  }
  return nullptr;
}

TEST(ConfigSchema, NoFieldIsIgnoredInSilence) {
  for (const FieldDef& field : ConfigFields()) {
    if (field.support != FieldSupport::kRecorded || Metadata().contains(field.path)) {
      continue;
    }
    const FieldDef* section = SwitchOf(field.path);
    ASSERT_NE(section, nullptr) << field.path
                                << " is recorded, changes nothing, and nobody would be told";
    EXPECT_TRUE(section->support == FieldSupport::kRefused || !section->refused.empty())
        << field.path << " changes nothing although " << section->path << " is honoured";
  }
}

// The source text of everything that may read a setting, tests and core/config itself left out.
std::string SourcesThatReadSettings() {
  std::string text;
  for (const char* root : {"core", "worker"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const std::string path = entry.path().string();
      if (absl::EndsWith(path, ".cc") && !absl::EndsWith(path, "_test.cc") &&
          !absl::StartsWith(path, "core/config/")) {
        const absl::StatusOr<std::string> source = ReadFile(path);
        QB_EXPECT_OK(source);
        text.append(*source);
      }
    }
  }
  return text;
}

TEST(ConfigSchema, EveryHonouredFieldIsReadSomewhere) {
  const std::string sources = SourcesThatReadSettings();
  for (const FieldDef& field : ConfigFields()) {
    if (field.support == FieldSupport::kHonoured) {
      EXPECT_TRUE(absl::StrContains(sources, absl::StrCat("\"", field.path, "\"")))
          << "no code outside core/config reads " << field.path;
    }
  }
}

// The value of the expectations that differs from the default, in a file of its own.
TEST(ConfigSchema, WhatIsNotSupportedYetIsRefusedByName) {
  const absl::StatusOr<std::string> text = ReadFile("tests/testdata/config_expectations.json");
  QB_ASSERT_OK(text);
  QB_ASSERT_OK_AND_ASSIGN(const Json expectations, Json::Parse(*text));
  for (const Json& row : expectations["fields"].items()) {
    const std::string& path = row["path"].as_string();
    const FieldDef* field = FindConfigField(path);
    ASSERT_NE(field, nullptr) << path;
    if (field->support != FieldSupport::kRefused) {
      continue;
    }
    Json tree = row["valid"];
    const std::vector<std::string> levels = absl::StrSplit(path, '.');
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
      tree = Json::Object().Set(*level, std::move(tree));
    }
    const absl::Status status =
        CompileConfig::Resolve(ConfigSources{.file_text = tree.Dump(), .file_name = "f"}).status();
    EXPECT_EQ(FailureCodeOf(status), FailureCode::kConfigError) << path;
    const std::vector<ConfigProblem> problems = ConfigProblemsOf(status);
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(),
                            [&](const ConfigProblem& problem) {
                              return problem.path == path &&
                                     absl::StrContains(problem.text, "is not supported yet");
                            }))
        << path << ": " << status;
  }
}

}  // namespace
}  // namespace qb

#include "server/service/config_resolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/json.h"
#include "core/base/testing/status_matchers.h"
#include "core/config/schema.h"
#include "server/service/config_cache.h"

namespace qb::server {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

qbc::v1::JobSpec SpecWith(const std::string& file_text) {
  qbc::v1::JobSpec spec;
  spec.set_target_device("aries-rb");
  spec.mutable_config()->set_file_text(file_text);
  return spec;
}

Json Resolved(const qbc::v1::JobSpec& spec) {
  std::vector<Violation> violations;
  const std::string text = ResolveConfig(spec, violations).json;
  EXPECT_THAT(violations, IsEmpty());
  return Json::Parse(text).value_or(Json());
}

std::vector<Violation> ViolationsOf(const qbc::v1::JobSpec& spec) {
  std::vector<Violation> violations;
  EXPECT_EQ(ResolveConfig(spec, violations).json, "");
  return violations;
}

auto IsViolation(FailureCode code, const std::string& field, const std::string& text) {
  return AllOf(Field(&Violation::code, code), Field(&Violation::field, field),
               Field(&Violation::description, HasSubstr(text)));
}

TEST(ConfigResolution, ShowsEveryValueWithItsOrigin) {
  qbc::v1::JobSpec spec = SpecWith("calibration:\n  mode: 0\n");
  spec.set_device("cpu");
  spec.set_threads(3);
  spec.mutable_config()->set_overrides_json(R"({"inference-scheme": "multi", "backend": "onnx"})");
  const Json json = Resolved(spec);
  const Json& settings = json["settings"];
  for (const FieldDef& field : ConfigFields()) {
    EXPECT_FALSE(settings[field.path]["origin"].as_string().empty()) << field.path;
    EXPECT_TRUE(settings[field.path].contains("value")) << field.path;
  }
  EXPECT_EQ(settings["device"].Dump(), R"({"value":"cpu","origin":"--device"})");
  EXPECT_EQ(settings["inferenceScheme"].Dump(),
            R"({"value":"multi","origin":"--inference-scheme"})");
  EXPECT_EQ(settings["resourceManagement.threads"].Dump(), R"({"value":3,"origin":"--threads"})");
  EXPECT_EQ(settings["calibration.mode"].Dump(),
            R"({"value":0,"origin":"file spec.config.file_text"})");
  EXPECT_EQ(settings["bufferMode"].Dump(), R"({"value":1,"origin":"default"})");
  EXPECT_EQ(json["config"]["quantization"]["calibration"]["mode"].as_int(), 0);
}

TEST(ConfigResolution, APresetIsAnOriginAndSilencesTheFileAloud) {
  qbc::v1::JobSpec spec = SpecWith("calibration:\n  mode: 0\n");
  spec.mutable_config()->set_preset("classification");
  const Json json = Resolved(spec);
  EXPECT_EQ(json["settings"]["calibration.mode"]["origin"].as_string(), "preset classification");
  EXPECT_THAT(json["warnings"].Dump(), HasSubstr("is ignored"));
}

TEST(ConfigResolution, EqualSpecsGiveEqualText) {
  std::vector<Violation> violations;
  EXPECT_EQ(ResolveConfig(SpecWith("debug: true"), violations).json,
            ResolveConfig(SpecWith("{\"debug\": true}"), violations).json);
}

TEST(ConfigResolution, IdentityForgetsWhereValuesCameFrom) {
  std::vector<Violation> violations;
  const ResolvedConfig by_file = ResolveConfig(SpecWith("inferenceScheme: single\n"), violations);
  qbc::v1::JobSpec spec = SpecWith("");
  spec.mutable_config()->set_overrides_json(R"({"inference-scheme": "single"})");
  spec.set_threads(3);
  const ResolvedConfig by_flag = ResolveConfig(spec, violations);
  EXPECT_NE(by_file.json, by_flag.json);
  EXPECT_EQ(by_file.identity_json, by_flag.identity_json);
  EXPECT_TRUE(by_flag.prefers_gpu);
  spec.mutable_config()->set_overrides_json(
      R"({"inference-scheme": "single", "input-shape": ["x:1x3x8x8"]})");
  EXPECT_NE(ResolveConfig(spec, violations).identity_json, by_flag.identity_json);
  spec.set_device("cpu");
  EXPECT_FALSE(ResolveConfig(spec, violations).prefers_gpu);
  EXPECT_THAT(violations, IsEmpty());
}

TEST(ConfigResolution, AllMistakesOfAllSourcesComeTogether) {
  qbc::v1::JobSpec spec =
      SpecWith("calibration: {mode: 9, mod: 1}\nllm: {apply: true}\nclusteringMethods: []");
  spec.mutable_config()->set_preset("no-such-preset");
  spec.mutable_config()->set_overrides_json(R"({"backend": 7, "output": "/etc/passwd"})");
  EXPECT_THAT(
      ViolationsOf(spec),
      UnorderedElementsAre(
          IsViolation(FailureCode::kConfigError, "spec.config.overrides_json", "'backend'"),
          IsViolation(FailureCode::kConfigError, "spec.config.overrides_json", "'output'"),
          IsViolation(FailureCode::kConfigError, "spec.config.preset", "classification"),
          IsViolation(FailureCode::kConfigError, "calibration.mode", "9 is not accepted"),
          IsViolation(FailureCode::kConfigError, "calibration.mod", "nearest: mode"),
          IsViolation(FailureCode::kConfigError, "clusteringMethods", "calibration.groupLut"),
          IsViolation(FailureCode::kConfigError, "llm.apply", "not supported yet")));
}

TEST(ConfigResolution, ASchemeThatTheTargetHasNot) {
  qbc::v1::JobSpec spec = SpecWith("inferenceScheme: global8");
  spec.set_target_device("regulus-rb");
  EXPECT_THAT(ViolationsOf(spec),
              UnorderedElementsAre(
                  IsViolation(FailureCode::kTargetError, "inferenceScheme", "it has single")));
  spec.set_target_device("a-device-of-this-server");
  EXPECT_EQ(Resolved(spec)["config"]["inferenceScheme"].as_string(), "global8");
}

TEST(ConfigResolution, AFileThatCannotBeReadIsOneViolation) {
  EXPECT_THAT(
      ViolationsOf(SpecWith("{ not closed")),
      UnorderedElementsAre(IsViolation(FailureCode::kConfigError, "spec.config.file_text", "")));
}

TEST(ConfigResolution, PathsInAFileNameNothingHere) {
  qbc::v1::JobSpec spec = SpecWith("calibDataPaths: [/var/lib/others]");
  EXPECT_THAT(ViolationsOf(spec),
              UnorderedElementsAre(
                  IsViolation(FailureCode::kConfigError, "calibDataPaths", "spec.calibration")));
  spec.add_calibration();  // then the job's own sets win
  EXPECT_THAT(Resolved(spec)["warnings"].Dump(), HasSubstr("calibDataPaths"));
  EXPECT_THAT(Resolved(SpecWith("savePaths: [/tmp/x.mxq]"))["warnings"].Dump(),
              HasSubstr("savePaths"));
}

TEST(ConfigCache, GivesWhatResolvingGives) {
  ConfigCache cache;
  qbc::v1::JobSpec spec = SpecWith("calibration:\n  mode: 0\n");
  std::vector<Violation> violations;
  for (int threads : {0, 3, 0, 3}) {
    spec.set_threads(threads);
    EXPECT_EQ(cache.Resolve(spec, violations).json, ResolveConfig(spec, violations).json);
  }
  spec.set_target_device("regulus-rb");
  spec.set_device("cpu");
  EXPECT_EQ(cache.Resolve(spec, violations).json, ResolveConfig(spec, violations).json);
  EXPECT_THAT(violations, IsEmpty());
}

TEST(ConfigCache, TellsViolationsEachTime) {
  ConfigCache cache;
  const qbc::v1::JobSpec paths = SpecWith("calibDataPaths: [/var/lib/others]");
  for (int round = 0; round < 2; ++round) {
    std::vector<Violation> violations;
    EXPECT_EQ(cache.Resolve(paths, violations).json, "");
    EXPECT_EQ(violations.size(), 1u);
  }
  // The same text with calibration sets of the job's own is another thing.
  qbc::v1::JobSpec with_sets = paths;
  with_sets.add_calibration();
  std::vector<Violation> violations;
  EXPECT_NE(cache.Resolve(with_sets, violations).json, "");
  EXPECT_THAT(violations, IsEmpty());
}

}  // namespace
}  // namespace qb::server

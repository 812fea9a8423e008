#include "core/config/compile_config.h"

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/config/schema.h"

namespace qb {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<CompileConfig> FromText(const std::string& text) {
  ConfigSources sources;
  sources.file_text = text;
  sources.file_name = "c.yaml";
  return CompileConfig::Resolve(sources);
}

TEST(CompileConfig, EveryDefaultIsValidAndSaysSo) {
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig config, CompileConfig::Resolve({}));
  for (const FieldDef& field : ConfigFields()) {
    EXPECT_EQ(config.Origin(field.path), "default") << field.path;
    EXPECT_EQ(config.Get(field.path).Dump(), Json::Parse(field.default_json)->Dump());
  }
  EXPECT_TRUE(config.Bool("biasCorrection.apply"));
  EXPECT_EQ(config.Float("calibration.maxPercentile.percentile"), 0.9999);
}

TEST(CompileConfig, StepsMayBeWrittenInSnakeCase) {
  const std::string camel =
      R"([{"op":"letterbox","height":8,"width":9,"padValue":1,"alignType":1},)"
      R"({"op":"centerCrop","height":2,"width":2},)"
      R"({"op":"normalize","mean":[1],"std":[2],"scaleToUint8":true,"fuseIntoFirstLayer":true}])";
  const std::string snake =
      R"([{"align_type":1,"op":"letterbox","width":9,"pad_value":1,"height":8},)"
      R"({"op":"center_crop","height":2,"width":2},)"
      R"({"op":"normalize","mean":[1],"std":[2],"scale_to_uint8":true,)"
      R"("fuse_into_first_layer":true}])";
  for (const std::string& pipeline : {camel, snake}) {
    ConfigSources sources;
    sources.for_dump = true;
    sources.file_text = absl::StrCat("{\"preprocessing\":{\"pipeline\":", pipeline,
                                     ",\"input_configs\":{\"my_input\":{\"pipeline\":", pipeline,
                                     ",\"auto_convert_format\":true}}}}");
    QB_ASSERT_OK_AND_ASSIGN(const CompileConfig config, CompileConfig::Resolve(sources));
    EXPECT_EQ(config.Get("preprocessing.pipeline").Dump(), camel);
    EXPECT_EQ(config.Get("preprocessing.inputConfigs").Dump(),
              absl::StrCat(R"({"my_input":{"pipeline":)", camel, R"(,"autoConvertFormat":true}})"));
  }
}

TEST(CompileConfig, AStepKeyInBothSpellingsIsRefused) {
  const absl::Status status =
      FromText(R"({"preprocessing":{"pipeline":[{"op":"pad","padValue":1,"pad_value":2},
                   {"op":"normalize","mean":[1],"std":[1,2],"scale_to_uint8":3}],
                   "inputConfigs":{"x":{"autoConvertFormat":true,"auto_convert_format":true}}}})")
          .status();
  EXPECT_THAT(status, testing::StatusIs(
                          absl::StatusCode::kInvalidArgument,
                          AllOf(HasSubstr("pipeline[0].pad_value: 'padValue' is given in both"),
                                HasSubstr("pipeline[1].scale_to_uint8: 3 is not accepted"),
                                HasSubstr("x.auto_convert_format: 'autoConvertFormat' is given"))));
}

TEST(CompileConfig, GroupedAndFlatSpellingsMeanTheSame) {
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig flat, FromText("calibration:\n  mode: 0\n"));
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig grouped,
                          FromText(R"({"quantization":{"calibration":{"mode":0}}})"));
  EXPECT_EQ(flat.Int("calibration.mode"), 0);
  EXPECT_EQ(flat.ToGroupedJson().Dump(), grouped.ToGroupedJson().Dump());
  EXPECT_THAT(FromText("calibration: {mode: 0}\nquantization: {calibration: {mode: 1}}"),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("both spellings")));
}

TEST(CompileConfig, AllProblemsAreReportedTogether) {
  const absl::StatusOr<CompileConfig> config = FromText(
      "calibraton: {mode: 0}\ndevice: tpu\noptimizeOption: true\ncalibration: {maxPercentile: "
      "{percentile: 2}}\ninputShapeDict: {}\nllm: {apply: true}\n");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(FailureCodeOf(config.status()), FailureCode::kConfigError);
  EXPECT_THAT(std::string(config.status().message()),
              AllOf(HasSubstr("calibraton: unknown key; nearest: calibration"),
                    HasSubstr("device: \"tpu\""), HasSubstr("optimizeOption: true"),
                    HasSubstr("a number in [0.5, 1]"), HasSubstr("multi_shape"),
                    HasSubstr("llm.apply: true is not supported yet")));
}

TEST(CompileConfig, PrecedenceIsOverridePresetFileDefault) {
  ConfigSources sources;
  sources.file_text = "calibration: {output: 2, method: 0}";
  sources.file_name = "f.yaml";
  sources.for_dump = true;
  sources.overrides.push_back({"device", Json("cpu"), "--device"});
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig file_only, CompileConfig::Resolve(sources));
  EXPECT_EQ(file_only.Int("calibration.output"), 2);
  EXPECT_EQ(file_only.Origin("calibration.output"), "file f.yaml");
  EXPECT_EQ(file_only.Origin("device"), "--device");
  sources.preset = "detection";
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig with_preset, CompileConfig::Resolve(sources));
  EXPECT_EQ(with_preset.Int("calibration.output"), 1);
  EXPECT_EQ(with_preset.Int("calibration.method"), 1);
  EXPECT_THAT(with_preset.warnings(), ElementsAre(HasSubstr("'f.yaml' is ignored")));
  sources.preset = "nope";
  EXPECT_THAT(CompileConfig::Resolve(sources),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("classification")));
}

TEST(CompileConfig, DumpReadsBackEqual) {
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig config, FromText("calibration: {mode: 0}"));
  const std::string yaml = JsonToYaml(config.ToGroupedJson());
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig again, FromText(yaml));
  EXPECT_EQ(JsonToYaml(again.ToGroupedJson()), yaml);
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig json, FromText(config.ToGroupedJson().Dump(2)));
  EXPECT_EQ(JsonToYaml(json.ToGroupedJson()), yaml);
}

TEST(CompileConfig, ReducedFormHasNothingOfTheMachine) {
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig config, CompileConfig::Resolve({}));
  const Json reduced = config.ToGroupedJson(true);
  for (const char* key :
       {"modelPaths", "savePaths", "device", "debug", "trace", "calibDataPaths"}) {
    EXPECT_FALSE(reduced.contains(key)) << key;
    EXPECT_TRUE(config.ToGroupedJson().contains(key)) << key;
  }
  EXPECT_FALSE(reduced["resourceManagement"].contains("threads"));
}

TEST(ConfigText, HostileTextIsRefused) {
  const std::string nested(20000, '[');
  std::string laughs = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    laughs += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) {
      laughs += (i != 0 ? ",*" : "*") + before;
    }
    laughs += "]\n";
  }
  for (const std::string& text :
       {nested, laughs, std::string("a: 1\0b", 6), std::string("a: !!python/object x"),
        std::string("a: 1\na: 2"), std::string("a: [1"), std::string(5 << 20, ' ')}) {
    EXPECT_FALSE(ParseConfigText(text, "x").ok()) << text.substr(0, 40);
  }
}

TEST(ConfigText, HugeDeepAndBinaryFilesAreRefused) {
  std::string blocks;
  for (int i = 0; i < 10000; ++i) {
    blocks += "- ";
  }
  std::string objects;
  for (int i = 0; i < 10000; ++i) {
    objects += "{\"a\":";
  }
  std::string wide = "{";
  for (int i = 0; i < 50000; ++i) {
    wide += absl::StrCat("\"key", i, "\":{},");
  }
  wide.back() = '}';
  for (const std::string& text :
       {std::string(10 << 20, 'a'), "{\"a\":" + std::string(10 << 20, ' '), blocks + "a",
        std::string(10000, '['), objects, std::string("device: c\0pu", 12),
        std::string("{\"device\":\"c\0pu\"}", 17), wide, std::string(R"({"dtype":"a\u0000b"})"),
        std::string(R"(dtype: "a\0b")"), std::string(R"({"a\u0000":1})"),
        std::string("dtype: \"\xff\""), std::string("dtype: \xc0\xaf"),
        std::string("dtype: \xed\xa0\x80"), std::string("dtype: \xf4\x90\x80\x80"),
        std::string("dtype: \xe2\x82")}) {
    ConfigSources sources;
    sources.file_text = text;
    sources.file_name = "hostile";
    const absl::Status status = CompileConfig::Resolve(sources).status();
    EXPECT_EQ(FailureCodeOf(status), FailureCode::kConfigError) << text.substr(0, 40);
    EXPECT_LT(status.message().size(), 20000u);
  }
}

TEST(ConfigText, AnyUtf8IsRead) {
  const std::string text = "\u00e4\u20ac\U0001f600\ufffd";
  QB_ASSERT_OK_AND_ASSIGN(const Json value, ParseConfigText("dtype: " + text, "x"));
  EXPECT_EQ(value["dtype"].as_string(), text);
}

TEST(ConfigText, DeepBlocksAreCalledDeep) {
  std::string blocks;
  for (int i = 0; i < 10000; ++i) {
    blocks += "- ";
  }
  EXPECT_THAT(ParseConfigText(blocks + "a", "x"),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nested deeper")));
}

TEST(ConfigText, AnchorsAreReadTagsAndMergeKeysAreNot) {
  QB_ASSERT_OK_AND_ASSIGN(const Json value, ParseConfigText("a: &x [1, 2]\nb: *x\n", "x"));
  EXPECT_EQ(value.Dump(), R"({"a":[1,2],"b":[1,2]})");
  EXPECT_THAT(ParseConfigText("a: !!int 3", "x"),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("line 1, column 4: the tag 'tag:yaml.org,2002:int'")));
  EXPECT_THAT(ParseConfigText("a: &x {b: 1}\nc:\n  <<: *x\n", "x"),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("merge keys (<<) are not accepted")));
}

TEST(CompileConfig, ADotDoesNotReachIntoASection) {
  EXPECT_THAT(FromText(R"({"calibration.mode":0,"calibration":{"maxPercentile.percentile":1}})"),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("calibration.mode: unknown key"),
                                      HasSubstr("maxPercentile.percentile: unknown key"))));
}

TEST(CompileConfig, ProblemsComeOneByOne) {
  const absl::Status status =
      FromText("device: tpu\n\"a\\nb: c\": 1\nllm: {apply: true}\n").status();
  const std::vector<ConfigProblem> problems = ConfigProblemsOf(status);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].path, "device");
  EXPECT_THAT(problems[1].text, HasSubstr("unknown key"));
  EXPECT_EQ(problems[2].path, "llm.apply");
}

TEST(CompileConfig, ValuesWithoutAPartAreRefusedButDump) {
  EXPECT_THAT(FromText("llm: {apply: true}\nmoe: {apply: true}"),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("llm.apply: true is not supported yet"),
                                      HasSubstr("moe.apply: true is not"))));
}

TEST(CompileConfig, LetterboxModesAreThoseOfItsBackend) {
  const auto text = [](absl::string_view backend) {
    return absl::StrCat(R"({"preprocessing":{"pipeline":[{"op":"letterbox","height":8,"width":8,)",
                        R"("mode":"lanczos","backend":")", backend, R"("}]}})");
  };
  QB_EXPECT_OK(FromText(text("opencv")));
  EXPECT_FALSE(FromText(text("torch")).ok());
  EXPECT_FALSE(FromText(text("pil")).ok());
}

TEST(ConfigText, ScalarsKeepTheirType) {
  QB_ASSERT_OK_AND_ASSIGN(const Json value,
                          ParseConfigText("a: 1\nb: \"1\"\nc: 1.5\nd: true\ne: yes\nf:", "x"));
  EXPECT_EQ(value.Dump(), R"({"a":1,"b":"1","c":1.5,"d":true,"e":"yes","f":null})");
}

TEST(CompileConfig, SnakeCaseIsTheSameField) {
  QB_ASSERT_OK_AND_ASSIGN(
      const CompileConfig config,
      FromText("calibration: {max_percentile: {topk_ratio: 0.5}}\nuse_random_calib: true"));
  EXPECT_EQ(config.Float("calibration.maxPercentile.topkRatio"), 0.5);
  EXPECT_TRUE(config.Bool("useRandomCalib"));
  EXPECT_THAT(FromText("use_random_calib: true\nuseRandomCalib: true"),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("both spellings")));
  EXPECT_EQ(SnakeCase("calibDataPaths"), "calib_data_path");
  EXPECT_EQ(SnakeCase("gpuMemoryBudgetMB"), "gpu_memory_budget_mb");
  EXPECT_EQ(SnakeCase("maxPercentile"), "max_percentile");
}

TEST(CompileConfig, StepsAcceptOnlyTheirOwnKeys) {
  const absl::StatusOr<CompileConfig> config = FromText(R"({"preprocessing":{"pipeline":[
      {"op":"resize","size":256,"backend":"pil","antialias":true},
      {"op":"resize","height":3},
      {"op":"resize","size":4,"mode":"lanczos"},
      {"op":"centerCrop","height":224,"widht":224},
      {"op":"normalize","mean":[1,2],"std":[1]},
      {"op":"flip"}]}})");
  EXPECT_THAT(std::string(config.status().message()),
              AllOf(HasSubstr("pipeline[0].antialias: only the backend torch"),
                    HasSubstr("pipeline[1]: resize takes size"),
                    HasSubstr("pipeline[2].mode: the backend torch has no mode 'lanczos'"),
                    HasSubstr("pipeline[3]: centerCrop needs width"),
                    HasSubstr("pipeline[3].widht: unknown key of centerCrop; nearest: width"),
                    HasSubstr("mean has 2 values"), HasSubstr("\"flip\" is no step")));
}

TEST(CompileConfig, EveryPresetDumpsAndReadsBackEqual) {
  for (const PresetInfo& preset : AllPresets()) {
    ConfigSources sources;
    sources.preset = std::string(preset.name);
    sources.for_dump = true;
    QB_ASSERT_OK_AND_ASSIGN(const CompileConfig config, CompileConfig::Resolve(sources));
    const std::string yaml = JsonToYaml(config.ToGroupedJson());
    ConfigSources again;
    again.file_text = yaml;
    again.file_name = "dump";
    again.for_dump = true;
    QB_ASSERT_OK_AND_ASSIGN(const CompileConfig read, CompileConfig::Resolve(again));
    EXPECT_EQ(JsonToYaml(read.ToGroupedJson()), yaml) << preset.name;
    again.file_text = config.ToGroupedJson().Dump(2);
    QB_ASSERT_OK_AND_ASSIGN(const CompileConfig json, CompileConfig::Resolve(again));
    EXPECT_EQ(JsonToYaml(json.ToGroupedJson()), yaml) << preset.name;
    // A preset may ask for a part that does not exist yet; then that is all that is wrong with it.
    sources.for_dump = false;
    const absl::StatusOr<CompileConfig> used = CompileConfig::Resolve(sources);
    if (!used.ok()) {
      EXPECT_THAT(std::string(used.status().message()), HasSubstr("is not supported yet"));
    }
  }
}

}  // namespace
}  // namespace qb

#include "core/config/cross_check.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/config/compile_config.h"

namespace qb {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ConfigSources Sources(const std::string& text) {
  ConfigSources sources;
  sources.file_text = text;
  sources.file_name = "f";
  sources.for_dump = true;
  return sources;
}

std::string ProblemsOf(const std::string& text) {
  return std::string(CompileConfig::Resolve(Sources(text)).status().message());
}

TEST(CrossCheck, AllAreReportedTogether) {
  EXPECT_THAT(ProblemsOf(R"(
splitBlocks: [3]
splitParts: 2
device: tpu
hessianQuant: {solver: asymmetric_causal, attributes: {groupSize: 64}}
resourceManagement: {weightMemory: {method: 1, methodList: [KeepAll]}}
)"),
              AllOf(HasSubstr("splitParts: 2 is given together with splitBlocks [3]"),
                    HasSubstr("device: \"tpu\""), HasSubstr("needs the solver symmetric"),
                    HasSubstr("1 is no index into methodList")));
}

TEST(CrossCheck, AFileOfAnotherMajorVersionIsRefused) {
  EXPECT_EQ(ProblemsOf("configVersion: 1.7.3"), "");
  EXPECT_THAT(ProblemsOf("configVersion: 2.0.0"), HasSubstr("accepted: 1.x.y"));
  EXPECT_THAT(ProblemsOf("configVersion: ''"), HasSubstr("accepted: 1.x.y"));
}

TEST(CrossCheck, GroupsNeedTheSymmetricSolverWithoutRescomp) {
  EXPECT_EQ(ProblemsOf("hessianQuant: {attributes: {groupSize: 64}}"), "");
  EXPECT_THAT(ProblemsOf("hessianQuant: {rescomp: true, attributes: {groupSize: 64}}"),
              HasSubstr("rescomp true"));
}

TEST(CrossCheck, CacheLengths) {
  EXPECT_THAT(ProblemsOf("llm: {apply: true, attributes: {maxCacheLength: 1024}}"),
              HasSubstr("at least maxSequenceLength, which is 4096"));
  EXPECT_THAT(ProblemsOf("llm: {apply: true, attributes: {maxCacheLength: 64, runtime: {batchSize: "
                         "2}}}"),
              AllOf(HasSubstr("at least maxDataLength, which is 4096"),
                    HasSubstr("at least maxCoreDataLength, which is 128")));
  EXPECT_EQ(ProblemsOf("llm: {apply: true, attributes: {maxCacheLength: 8192}}"), "");
  EXPECT_EQ(ProblemsOf("llm: {attributes: {maxCacheLength: 1024}}"), "");
}

TEST(CrossCheck, ABatchOfSequencesTakesThreeSchemes) {
  const std::string batch = "llm: {apply: true, attributes: {runtime: {batchSize: 2}}}\n";
  EXPECT_THAT(ProblemsOf(batch + "inferenceScheme: multi"),
              HasSubstr("inferenceScheme: \"multi\" with llm.attributes.runtime.batchSize 2"));
  EXPECT_THAT(ProblemsOf(batch + "inferenceScheme: all"), HasSubstr("single, global4 or global8"));
  for (const char* scheme : {"single", "global4", "global8", "global"}) {
    EXPECT_EQ(ProblemsOf(batch + "inferenceScheme: " + scheme), "") << scheme;
  }
}

TEST(CrossCheck, OneLayerHasOneWidthOfWeights) {
  EXPECT_THAT(ProblemsOf("bit: {layerOverrides: {weight8Bits: [a, b], weight4Bits: [b]}}"),
              HasSubstr("bit.layerOverrides.weight4Bits: \"b\" stands in another list"));
  EXPECT_EQ(ProblemsOf("bit: {layerOverrides: {activation16Bits: [b], weight4Bits: [b]}}"), "");
}

TEST(CrossCheck, AppliedSectionsNeedTheirFiles) {
  EXPECT_THAT(ProblemsOf("loadScale: {apply: true}"), HasSubstr("loadScale.path: empty"));
  EXPECT_EQ(ProblemsOf("loadScale: {apply: true, path: x}"), "");
  EXPECT_THAT(ProblemsOf("extraOutput: {apply: true}"), HasSubstr("extraOutput.layers: empty"));
}

TEST(CrossCheck, TheSchemeMustBeOneOfTheTargets) {
  ConfigSources sources = Sources("inferenceScheme: multi");
  sources.target = "little";
  sources.target_schemes = {"single", "all"};
  absl::StatusOr<CompileConfig> config = CompileConfig::Resolve(sources);
  EXPECT_EQ(FailureCodeOf(config.status()), FailureCode::kTargetError);
  EXPECT_THAT(
      std::string(config.status().message()),
      HasSubstr("\"multi\" (file f) is no scheme of the target little; it has single, all"));
  sources.file_text = "inferenceScheme: multi\ndevice: tpu";
  config = CompileConfig::Resolve(sources);
  EXPECT_EQ(FailureCodeOf(config.status()), FailureCode::kConfigError);
  EXPECT_EQ(ConfigProblemsOf(config.status()).size(), 2u);
  sources.file_text = "inferenceScheme: all";
  QB_EXPECT_OK(CompileConfig::Resolve(sources));
}

}  // namespace
}  // namespace qb

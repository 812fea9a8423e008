// The resolved values of each preset, kept as golden files that a person reads.
#include <cstdlib>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/config/compile_config.h"

namespace qb {
namespace {

absl::StatusOr<CompileConfig> ResolvePreset(absl::string_view name) {
  ConfigSources sources;
  sources.preset = std::string(name);
  sources.for_dump = true;
  return CompileConfig::Resolve(sources);
}

TEST(Presets, ResolveToTheirGoldenFiles) {
  for (const PresetInfo& preset : AllPresets()) {
    QB_ASSERT_OK_AND_ASSIGN(const CompileConfig config, ResolvePreset(preset.name));
    const std::string yaml = JsonToYaml(config.ToGroupedJson());
    const std::string path = absl::StrCat("tests/testdata/presets/", preset.name, ".yaml");
    if (std::getenv("QB_UPDATE_GOLDEN") != nullptr) {
      QB_ASSERT_OK(WriteFileAtomically(path, yaml));
    }
    QB_ASSERT_OK_AND_ASSIGN(const std::string golden, ReadFile(path));
    EXPECT_EQ(golden, yaml) << path << " (QB_UPDATE_GOLDEN=1 writes it)";
  }
}

TEST(Presets, SayWhichValuesAreTheirs) {
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig yolo, ResolvePreset("yolo_640"));
  EXPECT_EQ(yolo.Origin("calibration.output"), "preset yolo_640");
  EXPECT_EQ(yolo.Int("calibration.output"), 1);
  EXPECT_EQ(yolo.Origin("calibration.method"), "default");
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig fast, ResolvePreset("llm_fast"));
  EXPECT_TRUE(fast.Bool("llm.apply"));
  EXPECT_FALSE(fast.Bool("equivalentTransformation.QK.apply"));
  EXPECT_FALSE(fast.Bool("llm.attributes.calibration.useFullSeqLength"));
}

}  // namespace
}  // namespace qb

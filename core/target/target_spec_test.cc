#include "core/target/target_spec.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AllTargets, AreTheFourInTheirOrder) {
  std::vector<std::string> names;
  for (const TargetSpec& target : AllTargets()) {
    names.push_back(target.name);
  }
  EXPECT_THAT(names, ElementsAre("aries-rb", "regulus-ra", "regulus-rb", "regulus-rb-usb"));
}

TEST(AllTargets, ComputeTheirHeadlineRate) {
  for (const TargetSpec& target : AllTargets()) {
    EXPECT_NEAR(target.computed_int8_tops(), target.headline_int8_tops, 1e-6) << target.name;
    EXPECT_EQ(target.mac_array_input_channels * target.mac_array_output_channels,
              target.macs_per_cycle)
        << target.name;
  }
}

TEST(AllTargets, DifferInUnitAndBorder) {
  EXPECT_TRUE((*FindTarget("aries-rb"))->lut_unit);
  EXPECT_FALSE((*FindTarget("regulus-ra"))->lut_unit);
  EXPECT_TRUE((*FindTarget("regulus-rb"))->lut_unit);
  EXPECT_FALSE((*FindTarget("regulus-rb"))->integer_border);
  EXPECT_TRUE((*FindTarget("regulus-rb-usb"))->integer_border);
  EXPECT_EQ((*FindTarget("aries-rb"))->cores(), 8);
}

TEST(FindTarget, MatchesExactlyAndListsTheNames) {
  for (const char* name : {"aries", "ARIES-RB", "aries-rb ", "aries_rb", ""}) {
    const absl::Status status = FindTarget(name).status();
    EXPECT_EQ(FailureCodeOf(status), FailureCode::kTargetError);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("aries-rb, regulus-ra, regulus-rb, regulus-rb-usb"));
  }
}

TEST(CheckScheme, KnowsModesAliasAndAll) {
  const TargetSpec& aries = **FindTarget("aries-rb");
  EXPECT_THAT(*CheckScheme(aries, "single"), ElementsAre(CoreMode::kSingle));
  EXPECT_THAT(*CheckScheme(aries, "global"), ElementsAre(CoreMode::kGlobal4));
  EXPECT_THAT(*CheckScheme(aries, "all"), ElementsAre(CoreMode::kSingle, CoreMode::kMulti,
                                                      CoreMode::kGlobal4, CoreMode::kGlobal8));
  const TargetSpec& regulus = **FindTarget("regulus-ra");
  EXPECT_THAT(*CheckScheme(regulus, "all"), ElementsAre(CoreMode::kSingle));
  for (const char* scheme : {"multi", "global", "global4", "global8", "Single", ""}) {
    const absl::Status status = CheckScheme(regulus, scheme).status();
    EXPECT_EQ(FailureCodeOf(status), FailureCode::kTargetError) << scheme;
    EXPECT_THAT(std::string(status.message()), HasSubstr("accepted: single, all"));
  }
}

TEST(ParseTargetSpec, NamesWhatIsMissing) {
  EXPECT_THAT(std::string(ParseTargetSpec("{}").status().message()), HasSubstr("'name'"));
  EXPECT_THAT(std::string(ParseTargetSpec(R"({"name": "x", "clusters": {"value": 1}})")
                              .status()
                              .message()),
              HasSubstr("'clusters' must have"));
}

}  // namespace
}  // namespace qb

#include "server/dispatch/compiler_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

qbc::v1::JobSpec SpecWith(const std::string& overrides) {
  qbc::v1::JobSpec spec;
  spec.set_target_device("aries-rb");
  spec.mutable_config()->set_overrides_json(overrides);
  return spec;
}

TEST(CompilerFlags, WritesEveryKindOfOverride) {
  QB_ASSERT_OK_AND_ASSIGN(
      const auto flags,
      ResolveCompilerFlags(SpecWith(R"({"inference-scheme": "single", "use-random-calib": true,
                                        "cpu-offload": false, "input-shape": ["x:1x3", "y:2"]})")));
  EXPECT_THAT(flags, ElementsAre("--target-device", "aries-rb", "--inference-scheme", "single",
                                 "--use-random-calib", "--no-cpu-offload", "--input-shape", "x:1x3",
                                 "--input-shape", "y:2"));
}

TEST(CompilerFlags, RefusesEverythingElse) {
  for (const char* overrides :
       {"[]", "{", "7", R"({"output": "/etc/passwd"})", R"({"model": "x"})", R"({"backend": 3})",
        R"({"backend": "--output"})", R"({"backend": ""})", R"({"backend": "a\u0000b"})",
        R"({"use-random-calib": "yes"})", R"({"input-shape": "x"})", R"({"input-shape": [1]})",
        R"({"input-shape": ["-x"]})", R"({"backend": {"a": {"b": {"c": {"d": 1}}}}})"}) {
    const absl::Status status = ResolveCompilerFlags(SpecWith(overrides)).status();
    EXPECT_EQ(FailureCodeOf(status), FailureCode::kConfigError) << overrides;
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("overrides_json")));
  }
}

TEST(CompilerFlags, RefusesAPresetThatLooksLikeAFlag) {
  qbc::v1::JobSpec spec = SpecWith("");
  spec.mutable_config()->set_preset("--output=/etc/passwd");
  EXPECT_EQ(FailureCodeOf(ResolveCompilerFlags(spec).status()), FailureCode::kConfigError);
}

}  // namespace
}  // namespace qb::server

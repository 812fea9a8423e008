#include "server/service/config_resolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/failure.h"
#include "core/base/json.h"
#include "core/base/testing/status_matchers.h"

namespace qb::server {
namespace {

TEST(ConfigResolution, ShowsValuesAndWhereTheyCameFrom) {
  qbc::v1::JobSpec spec;
  spec.set_device("cpu");
  spec.mutable_config()->set_file_text("calibration:\n  mode: 0\n");
  spec.mutable_config()->set_overrides_json(R"({"inference-scheme": "single", "backend": "onnx"})");
  QB_ASSERT_OK_AND_ASSIGN(const std::string text, ResolveConfigJson(spec));
  QB_ASSERT_OK_AND_ASSIGN(const Json json, Json::Parse(text));
  EXPECT_TRUE(json["config"].is_object());
  EXPECT_EQ(json["origins"]["device"].as_string(), "--device");
  EXPECT_EQ(json["origins"]["inferenceScheme"].as_string(), "--inference-scheme");
  EXPECT_THAT(json["origins"].Dump(), ::testing::HasSubstr("spec.config.file_text"));
  EXPECT_THAT(json["origins"].Dump(), ::testing::Not(::testing::HasSubstr("\"default\"")));
}

TEST(ConfigResolution, EqualSpecsGiveEqualText) {
  qbc::v1::JobSpec spec;
  QB_ASSERT_OK_AND_ASSIGN(const std::string first, ResolveConfigJson(spec));
  QB_ASSERT_OK_AND_ASSIGN(const std::string second, ResolveConfigJson(spec));
  EXPECT_EQ(first, second);
}

TEST(ConfigResolution, MistakesAreConfigErrors) {
  qbc::v1::JobSpec spec;
  spec.mutable_config()->set_preset("no-such-preset");
  EXPECT_EQ(FailureCodeOf(ResolveConfigJson(spec).status()), FailureCode::kConfigError);
  spec.Clear();
  spec.mutable_config()->set_file_text("noSuchField: 1\n");
  const absl::Status status = ResolveConfigJson(spec).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kConfigError);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("noSuchField"));
  spec.mutable_config()->set_file_text("{ not closed");
  EXPECT_EQ(FailureCodeOf(ResolveConfigJson(spec).status()), FailureCode::kConfigError);
}

}  // namespace
}  // namespace qb::server

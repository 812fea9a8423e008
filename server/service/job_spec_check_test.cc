#include "server/service/job_spec_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"

namespace qb::server {
namespace {

using qbc::v1::JobSpec;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

JobSpec GoodSpec() {
  JobSpec spec;
  spec.set_target_device("aries-rb");
  auto* entry = spec.mutable_model()->add_entries();
  entry->set_path("net.onnx");
  entry->set_sha256(Sha256Hex("net"));
  entry->set_size_bytes(3);
  spec.mutable_model()->set_main("net.onnx");
  return spec;
}

std::vector<Violation> Check(JobSpec spec, SpecForm form = SpecForm::kComplete) {
  std::vector<Violation> violations;
  CheckJobSpec(JobLimits(), BuiltInTargets(), form, spec, violations);
  return violations;
}

TEST(JobSpecCheck, FillsInDefaults) {
  JobSpec spec = GoodSpec();
  std::vector<Violation> violations;
  CheckJobSpec(JobLimits(), BuiltInTargets(), SpecForm::kComplete, spec, violations);
  EXPECT_THAT(violations, IsEmpty());
  EXPECT_EQ(spec.kind(), qbc::v1::JOB_KIND_COMPILE);
  EXPECT_EQ(spec.run_timeout().seconds(), 7200);
  EXPECT_EQ(spec.queue_ttl().seconds(), 86400);
}

TEST(JobSpecCheck, KeepsWhatIsGiven) {
  JobSpec spec = GoodSpec();
  spec.mutable_run_timeout()->set_nanos(5'000'000);
  spec.mutable_queue_ttl()->set_seconds(int64_t{30} * 86400);
  std::vector<Violation> violations;
  CheckJobSpec(JobLimits(), BuiltInTargets(), SpecForm::kComplete, spec, violations);
  EXPECT_THAT(violations, IsEmpty());
  EXPECT_EQ(spec.run_timeout().seconds(), 0);
  EXPECT_EQ(spec.run_timeout().nanos(), 5'000'000);
}

TEST(JobSpecCheck, UnknownTargetListsTheKnownOnes) {
  JobSpec spec = GoodSpec();
  spec.set_target_device("aries-rc");
  const std::vector<Violation> violations = Check(spec);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].code, FailureCode::kTargetError);
  EXPECT_THAT(violations[0].description, AllOf(HasSubstr("aries-rc"), HasSubstr("regulus-rb-usb")));
  spec.set_target_device("");
  EXPECT_EQ(Check(spec).size(), 1u);
}

TEST(JobSpecCheck, APartialSpecMayLackModelAndTarget) {
  EXPECT_THAT(Check(JobSpec(), SpecForm::kPartial), IsEmpty());
  EXPECT_EQ(Check(JobSpec()).size(), 2u);
  JobSpec spec;
  spec.set_target_device("aries-rc");
  EXPECT_EQ(Check(spec, SpecForm::kPartial).size(), 1u);
}

TEST(JobSpecCheck, TellsEverythingAtOnce) {
  JobSpec spec = GoodSpec();
  spec.set_target_device("none");
  spec.set_threads(-1);
  spec.set_priority(1000);
  spec.set_device("tpu");
  spec.mutable_model()->mutable_entries(0)->set_path("../x");
  EXPECT_EQ(Check(spec).size(), 5u);
}

TEST(JobSpecCheck, NamesTheFieldThatIsWrong) {
  const std::vector<std::pair<std::string, std::function<void(JobSpec&)>>> cases = {
      {"spec.kind", [](JobSpec& s) { s.set_kind(qbc::v1::JOB_KIND_PARSE); }},
      {"spec.model", [](JobSpec& s) { s.clear_model(); }},
      {"spec.model.path",
       [](JobSpec& s) { s.mutable_model()->mutable_entries(0)->set_path("../x"); }},
      {"spec.calibration[0].path",
       [](JobSpec& s) { *s.add_calibration()->add_entries() = qbc::v1::ManifestEntry(); }},
      {"spec.evaluation_labels", [](JobSpec& s) { s.set_evaluation_labels("labels.csv"); }},
      {"spec.device", [](JobSpec& s) { s.set_device("tpu"); }},
      {"spec.threads", [](JobSpec& s) { s.set_threads(-1); }},
      {"spec.threads", [](JobSpec& s) { s.set_threads(1000); }},
      {"spec.priority", [](JobSpec& s) { s.set_priority(101); }},
      {"spec.labels", [](JobSpec& s) { (*s.mutable_labels())[""] = "x"; }},
      {"spec.labels", [](JobSpec& s) { (*s.mutable_labels())["k"] = std::string(257, 'x'); }},
      {"spec.run_timeout", [](JobSpec& s) { s.mutable_run_timeout()->set_seconds(86401); }},
      {"spec.run_timeout", [](JobSpec& s) { s.mutable_run_timeout()->set_seconds(0); }},
      {"spec.run_timeout", [](JobSpec& s) { s.mutable_run_timeout()->set_seconds(-5); }},
      {"spec.queue_ttl", [](JobSpec& s) { s.mutable_queue_ttl()->set_seconds(INT64_MAX); }},
      {"spec.config.file_text",
       [](JobSpec& s) { s.mutable_config()->set_file_text(std::string((1 << 20) + 1, 'x')); }},
      {"spec.model",
       [](JobSpec& s) { s.mutable_model()->mutable_entries(0)->set_size_bytes(INT64_MAX); }},
  };
  for (const auto& [field, change] : cases) {
    JobSpec spec = GoodSpec();
    change(spec);
    const std::vector<Violation> violations = Check(spec);
    ASSERT_EQ(violations.size(), 1u) << field;
    EXPECT_EQ(violations[0].field, field);
    EXPECT_FALSE(violations[0].description.empty());
  }
}

TEST(JobSpecCheck, ResourcesAndCachePolicyHaveRanges) {
  JobSpec spec = GoodSpec();
  spec.mutable_resources()->set_gpus(64);
  spec.set_cache_policy(qbc::v1::CACHE_POLICY_BYPASS);
  EXPECT_THAT(Check(spec), IsEmpty());
  spec.mutable_resources()->set_gpus(65);
  spec.mutable_resources()->set_memory_bytes(-1);
  spec.set_cache_policy(static_cast<qbc::v1::CachePolicy>(9));
  EXPECT_THAT(Check(spec), ::testing::UnorderedElementsAre(
                               ::testing::Field(&Violation::field, "spec.resources.gpus"),
                               ::testing::Field(&Violation::field, "spec.resources.memory_bytes"),
                               ::testing::Field(&Violation::field, "spec.cache_policy")));
}

}  // namespace
}  // namespace qb::server

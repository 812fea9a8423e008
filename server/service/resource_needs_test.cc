#include "server/service/resource_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qb::server {
namespace {

TEST(ResourceNeeds, AreWhatTheSpecSays) {
  qbc::v1::JobSpec spec;
  EXPECT_EQ(NeedsOf(spec), Resources());
  spec.mutable_resources()->set_cpus(2);
  spec.mutable_resources()->set_memory_bytes(3);
  spec.mutable_resources()->set_gpus(4);
  spec.mutable_resources()->set_scratch_bytes(5);
  EXPECT_EQ(NeedsOf(spec), (Resources{2, 3, 4, 5}));
}

TEST(ResourceNeeds, RequiredGpuIsOne) {
  qbc::v1::JobSpec spec;
  spec.set_device("gpu");
  EXPECT_EQ(NeedsOf(spec).gpus, 0);
  spec.mutable_config()->set_overrides_json(R"({"require-device": false})");
  EXPECT_EQ(NeedsOf(spec).gpus, 0);
  spec.mutable_config()->set_overrides_json(R"({"require-device": true})");
  EXPECT_EQ(NeedsOf(spec).gpus, 1);
  spec.mutable_resources()->set_gpus(2);
  EXPECT_EQ(NeedsOf(spec).gpus, 2);
  spec.clear_resources();
  spec.set_device("cpu");
  EXPECT_EQ(NeedsOf(spec).gpus, 0);
}

}  // namespace
}  // namespace qb::server

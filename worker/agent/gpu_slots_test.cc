#include "worker/agent/gpu_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb::worker {
namespace {

using ::qb::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GpuSlots, EachGpuIsOneAttempts) {
  GpuSlots slots;
  slots.Update({"1", "0", "2"});
  QB_ASSERT_OK_AND_ASSIGN(const auto first, slots.Take(2));
  EXPECT_THAT(first, ElementsAre("0", "1"));
  EXPECT_THAT(slots.Take(2),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::HasSubstr("GPUs")));
  QB_ASSERT_OK_AND_ASSIGN(const auto second, slots.Take(1));
  EXPECT_THAT(second, ElementsAre("2"));
  slots.GiveBack(first);
  QB_ASSERT_OK_AND_ASSIGN(const auto third, slots.Take(1));
  EXPECT_THAT(third, ElementsAre("0"));
  QB_ASSERT_OK_AND_ASSIGN(const auto none, slots.Take(0));
  EXPECT_THAT(none, IsEmpty());
}

TEST(GpuSlots, OneThatDisappearsIsToldAndNotHandedOut) {
  GpuSlots slots;
  const GpuSlots::Change start = slots.Update({"a", "b"});
  EXPECT_THAT(start.come, ElementsAre("a", "b"));
  QB_ASSERT_OK_AND_ASSIGN(const auto taken, slots.Take(1));
  const GpuSlots::Change change = slots.Update({"c"});
  EXPECT_THAT(change.gone, ElementsAre("a", "b"));
  EXPECT_THAT(change.come, ElementsAre("c"));
  EXPECT_THAT(slots.Names(), ElementsAre("c"));
  slots.GiveBack(taken);
  EXPECT_THAT(slots.Take(2),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::HasSubstr("GPUs")));
}

TEST(GpuInventory, TakesADeclaredList) {
  QB_ASSERT_OK_AND_ASSIGN(const GpuInventory list, MakeGpuInventory("1,0,GPU-ab:2"));
  QB_ASSERT_OK_AND_ASSIGN(const auto names, list());
  EXPECT_THAT(names, ElementsAre("0", "1", "GPU-ab:2"));
  QB_ASSERT_OK_AND_ASSIGN(const GpuInventory none, MakeGpuInventory("none"));
  QB_ASSERT_OK_AND_ASSIGN(const auto nothing, none());
  EXPECT_THAT(nothing, IsEmpty());
  for (const char* bad : {"0,0", "0,", "a b", "$(x)"}) {
    EXPECT_THAT(MakeGpuInventory(bad).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("--gpus")))
        << bad;
  }
}

TEST(GpuInventory, ReadsAFileEachTime) {
  qb::testing::TempDir folder;
  const std::string path = folder.File("gpus");
  QB_ASSERT_OK_AND_ASSIGN(const GpuInventory list, MakeGpuInventory("file:" + path));
  EXPECT_FALSE(list().ok());
  QB_ASSERT_OK(WriteFileAtomically(path, "0\n 1 \n\n"));
  QB_ASSERT_OK_AND_ASSIGN(const auto both, list());
  EXPECT_THAT(both, ElementsAre("0", "1"));
  QB_ASSERT_OK(WriteFileAtomically(path, "1\n"));
  QB_ASSERT_OK_AND_ASSIGN(const auto one, list());
  EXPECT_THAT(one, ElementsAre("1"));
}

TEST(GpuInventory, UnderstandsNvidiaSmi) {
  EXPECT_THAT(ParseNvidiaSmi("GPU-8a1b\nGPU-77\n"), ElementsAre("GPU-8a1b", "GPU-77"));
  EXPECT_THAT(ParseNvidiaSmi("No devices were found\n"), IsEmpty());
  EXPECT_THAT(ParseNvidiaSmi(""), IsEmpty());
}

}  // namespace
}  // namespace qb::worker

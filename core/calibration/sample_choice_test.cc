#include "core/calibration/sample_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/testing/status_matchers.h"
#include "core/calibration/testing/memory_dataset.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using testing::MemoryDataset;

TEST(ChooseSamples, TakesAllWhenThereAreFew) {
  const auto set = MakeRandomDataset({{"x", {DType::kFloat32, {3}}}}, 4, 1);
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> chosen,
                          ChooseSamples(*set, 4, 1, CancelToken()));
  EXPECT_THAT(chosen, ElementsAre(0, 1, 2, 3));
}

TEST(ChooseSamples, ChoosesByContent) {
  const auto set = MakeRandomDataset({{"x", {DType::kFloat32, {3}}}}, 40, 1);
  const auto samples = testing::SamplesOf(*set);
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> chosen,
                          ChooseSamples(*set, 7, 2, CancelToken()));
  ASSERT_EQ(chosen.size(), 7u);
  const MemoryDataset reversed({samples.rbegin(), samples.rend()});
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> again,
                          ChooseSamples(reversed, 7, 1, CancelToken()));
  std::set<int64_t> mirrored;
  for (const int64_t index : again) {
    mirrored.insert(39 - index);
  }
  EXPECT_EQ(mirrored, std::set<int64_t>(chosen.begin(), chosen.end()));
}

TEST(ChooseSamples, StopsWhenCancelled) {
  const auto set = MakeRandomDataset({{"x", {DType::kFloat32, {3}}}}, 40, 1);
  CancelToken cancel;
  cancel.Cancel();
  EXPECT_THAT(ChooseSamples(*set, 7, 1, cancel),
              testing::StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

}  // namespace
}  // namespace qb

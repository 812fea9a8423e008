#include "core/calibration/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/calibration/testing/memory_dataset.h"
#include "core/ops/graph_text.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::MemoryDataset;

constexpr char kGraph[] = R"(graph "g" {
  x = Input float32[1x6x6x2]
  w = InputConstant float32[3x3x3x2] random(7)
  b = InputConstant float32[3] [0.5, -1, 0]
  c = Convolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, channel_last=true, activation="relu"}
  y = Output(c)
})";

class CalibrateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    QB_ASSERT_OK_AND_ASSIGN(graph_, GraphFromText(kGraph));
    const Node* x = graph_.FindNode("x");
    const Node* c = graph_.FindNode("c");
    request_.ranges = {{x, 127}, {c, 255}};
    request_.windows = {{c,
                         x,
                         {.rows = 6,
                          .columns = 6,
                          .channels = 2,
                          .kernel_h = 3,
                          .kernel_w = 3,
                          .pad_top = 1,
                          .pad_left = 1,
                          .out_rows = 6,
                          .out_columns = 6}}};
    request_.window_samples = 4;
  }
  std::vector<InputSpec> Inputs() const { return {{"x", graph_.FindNode("x")->type()}}; }
  absl::StatusOr<CalibrationTable> Run(const Dataset& dataset, int threads = 1) {
    options_.threads = threads;
    NullProgressSink sink;
    return Calibrate({graph_, dataset, request_}, options_, sink, CancelToken());
  }
  // A table as one comparable list.
  static std::vector<double> Flat(const CalibrationTable& table) {
    std::vector<double> all;
    for (const auto& [id, statistics] : table.ranges) {
      all.insert(all.end(), {statistics.min, statistics.max, statistics.threshold,
                             static_cast<double>(statistics.above_threshold)});
    }
    for (const auto& [id, means] : table.windows) {
      all.insert(all.end(), means.begin(), means.end());
    }
    return all;
  }

  Graph graph_;
  CalibrationRequest request_;
  CalibrationOptions options_;
};

TEST_F(CalibrateTest, MeasuresInputsAndResults) {
  options_.mode = CalibrationMode::kMax;
  const MemoryDataset set({{Tensor::OfFloats({1, 6, 6, 2}, std::vector<float>(72, -0.5f))},
                           {Tensor::OfFloats({1, 6, 6, 2}, std::vector<float>(72, 0.25f))}});
  QB_ASSERT_OK_AND_ASSIGN(const CalibrationTable table, Run(set));
  const TensorStatistics& x = table.ranges.at(graph_.FindNode("x")->id());
  EXPECT_EQ(x.min, -0.5f);
  EXPECT_EQ(x.max, 0.25f);
  EXPECT_EQ(x.threshold, 0.5f);
  EXPECT_EQ(table.samples, 2);
  EXPECT_EQ(table.ranges.at(graph_.FindNode("c")->id()).min, 0.0f);
  // The middle tap meets all 36 positions, a corner tap 25 of them.
  const std::vector<double>& means = table.windows.at(graph_.FindNode("c")->id());
  ASSERT_EQ(means.size(), 18u);
  EXPECT_NEAR(means[8], -0.125, 1e-6);
  EXPECT_NEAR(means[0], -0.125 * 25 / 36, 1e-6);
}

TEST_F(CalibrateTest, DoesNotDependOnOrderOrThreads) {
  options_.percentile = 0.95;
  const auto set = MakeRandomDataset(Inputs(), 12, 3);
  QB_ASSERT_OK_AND_ASSIGN(const CalibrationTable one, Run(*set, 1));
  QB_ASSERT_OK_AND_ASSIGN(const CalibrationTable two, Run(*set, 2));
  EXPECT_EQ(Flat(one), Flat(two));
  auto samples = testing::SamplesOf(*set);
  std::shuffle(samples.begin(), samples.end(), std::mt19937(1));
  QB_ASSERT_OK_AND_ASSIGN(const CalibrationTable shuffled, Run(MemoryDataset(samples), 2));
  EXPECT_EQ(Flat(one), Flat(shuffled));
}

TEST_F(CalibrateTest, FallsBackToHistogramsAboveThePoolLimit) {
  options_.percentile = 0.9;
  options_.topk_ratio = 1.0;
  request_.ranges = {{request_.ranges[0].node, 1}, {request_.ranges[1].node, 1}};
  const auto set = MakeRandomDataset(Inputs(), 12, 3);
  QB_ASSERT_OK_AND_ASSIGN(const CalibrationTable exact, Run(*set));
  options_.most_pool_bytes = 100;
  QB_ASSERT_OK_AND_ASSIGN(const CalibrationTable close, Run(*set));
  for (const auto& [id, statistics] : exact.ranges) {
    EXPECT_NEAR(close.ranges.at(id).threshold, statistics.threshold, statistics.threshold * 0.009);
  }
}

TEST_F(CalibrateTest, NamesSampleAndNodeOfAnOverflow) {
  const float huge = std::numeric_limits<float>::max();
  const MemoryDataset set({{Tensor::OfFloats({1, 6, 6, 2}, std::vector<float>(72, 0.0f))},
                           {Tensor::OfFloats({1, 6, 6, 2}, std::vector<float>(72, huge))}});
  const absl::Status status = Run(set).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kCalibrationDataError);
  EXPECT_THAT(std::string(status.message()), HasSubstr("sample 'sample1' makes node 'c'"));
}

TEST_F(CalibrateTest, RefusesAnEmptySetAndStopsWhenCancelled) {
  EXPECT_EQ(FailureCodeOf(Run(MemoryDataset({})).status()), FailureCode::kCalibrationDataError);
  CancelToken cancel;
  cancel.Cancel();
  NullProgressSink sink;
  const auto set = MakeRandomDataset(Inputs(), 12, 3);
  EXPECT_THAT(Calibrate({graph_, *set, request_}, options_, sink, cancel),
              testing::StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

}  // namespace
}  // namespace qb

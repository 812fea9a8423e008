#include "core/tuning/auto_tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/testing/status_matchers.h"
#include "core/calibration/testing/memory_dataset.h"
#include "core/quantization/testing/graph_quantization.h"
#include "core/tuning/held_back.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using testing::InputsOf;
using ::testing::IsEmpty;
using testing::Measure;
using testing::MemoryDataset;
using testing::ParseGraph;
using testing::QuantizeGraph;
using testing::SamplesOf;

// One channel of the first sum is huge and its weight in the last layer tiny: 8 bits of that sum
// lose what the other channels say.
constexpr char kNetwork[] = R"(
  x = Input float32[1x6x6x8]
  w = InputConstant float32[8x1x1x8] random(7)
  c = Convolution(x, w) {channel_last=true}
  h = InputConstant float32[8] [900.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
  s = Adding(c, h)
  k = InputConstant float32[8] [0.0001, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
  m = Multiply(s, k)
  v = InputConstant float32[8x1x1x8] random(9)
  e = Convolution(m, v) {channel_last=true}
  f = InputConstant float32[8x1x1x8] random(10)
  g = Convolution(e, f) {channel_last=true}
  p = GlobalAveragePooling(g) {channel_last=true}
  r = Reshape(p) {new_shape=[1, 8]}
  y = Output(r)
)";

class AutoTuneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    QB_ASSERT_OK_AND_ASSIGN(graph_, ParseGraph(kNetwork));
    data_ = MakeRandomDataset(InputsOf(graph_), 16, 5);
    QB_ASSERT_OK_AND_ASSIGN(target_, FindTarget("aries-rb"));
    options_.metric = TuneMetric::kSqnr;
    options_.target = 40.0;
    options_.most_share = 0.5;
  }

  TuneResult TuneOn(const Dataset& data) {
    NullProgressSink sink;
    absl::StatusOr<TuneResult> result =
        AutoTune({graph_, data, *target_, quantization_}, options_, sink, CancelToken());
    QB_EXPECT_OK(result);
    return result.ok() ? *std::move(result) : TuneResult();
  }

  Graph graph_;
  std::unique_ptr<Dataset> data_;
  const TargetSpec* target_ = nullptr;
  QuantizationOptions quantization_;
  AutoTuneOptions options_;
};

TEST_F(AutoTuneTest, RaisesTheTensorThatLosesMostAndReachesTheTarget) {
  const TuneResult result = TuneOn(*data_);
  EXPECT_LT(result.before, 30.0);
  EXPECT_GE(result.after, 40.0);
  EXPECT_TRUE(result.reached);
  ASSERT_FALSE(result.choices.empty());
  EXPECT_FALSE(result.choices[0].weights);
  const auto& wide = result.overrides.activation16;
  EXPECT_TRUE(std::find(wide.begin(), wide.end(), "s") != wide.end() ||
              std::find(wide.begin(), wide.end(), "m") != wide.end());
  // What was promised holds for the network that these settings make.
  quantization_.overrides = result.overrides;
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel model, QuantizeGraph(graph_, *data_, quantization_));
  EXPECT_GT(Measure(graph_, model.network, *data_).sqnr_db, 38.0);
}

TEST_F(AutoTuneTest, TakesNothingWhenTheTargetHoldsAlready) {
  options_.target = 3.0;
  const TuneResult result = TuneOn(*data_);
  EXPECT_TRUE(result.reached);
  EXPECT_THAT(result.choices, IsEmpty());
  EXPECT_EQ(result.raised, 0);
  EXPECT_EQ(result.cycles_before, result.cycles_after);
}

TEST_F(AutoTuneTest, KeepsToTheShareOfTensorsAndSaysThatItMissed) {
  options_.most_share = 0.2;
  options_.target = 120.0;
  const TuneResult result = TuneOn(*data_);
  EXPECT_FALSE(result.reached);
  EXPECT_LE(result.raised, static_cast<int64_t>(0.2 * static_cast<double>(result.tensors)));
  EXPECT_GT(result.after, result.before);
  options_.most_share = 0.0;
  EXPECT_THAT(TuneOn(*data_).choices, IsEmpty());
}

TEST_F(AutoTuneTest, OrderOfSamplesAndThreadsChangeNothing) {
  const std::string want = TuneOn(*data_).ToJson().Dump();
  std::vector<std::vector<Tensor>> samples = SamplesOf(*data_);
  std::reverse(samples.begin(), samples.end());
  const MemoryDataset reversed(std::move(samples));
  quantization_.calibration.threads = 3;
  EXPECT_EQ(TuneOn(reversed).ToJson().Dump(), want);
}

TEST_F(AutoTuneTest, LayersNamedInTheSettingsStayAsTheyAre) {
  quantization_.overrides.weight8 = {"c", "e", "g"};
  options_.target = 120.0;
  options_.most_share = 1.0;
  const TuneResult result = TuneOn(*data_);
  EXPECT_THAT(result.overrides.weight16, IsEmpty());
  EXPECT_THAT(result.overrides.weight8, ElementsAre("c", "e", "g"));
}

TEST_F(AutoTuneTest, FourBitWeightsGoToEight) {
  quantization_.overrides.weight4 = {"*"};
  options_.target = 60.0;
  const TuneResult result = TuneOn(*data_);
  for (const TuneChoice& choice : result.choices) {
    EXPECT_EQ(choice.bits, choice.weights ? 8 : 16) << choice.layer;
  }
  EXPECT_GT(result.after, result.before + 3.0);
}

TEST(HoldBackSamples, PartsTheSetByContent) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph("x = Input float32[1x4]\ny = Output(x)"));
  const auto data = MakeRandomDataset(InputsOf(graph), 12, 5);
  QB_ASSERT_OK_AND_ASSIGN(const HeldBackSamples parts,
                          HoldBackSamples(*data, 64, 1, CancelToken()));
  EXPECT_EQ(parts.held_back->size(), 3);
  EXPECT_EQ(parts.calibration->size(), 9);
  QB_ASSERT_OK_AND_ASSIGN(const HeldBackSamples few, HoldBackSamples(*data, 2, 1, CancelToken()));
  EXPECT_EQ(few.held_back->size(), 2);
  const MemoryDataset one({*data->Load(0)});
  QB_ASSERT_OK_AND_ASSIGN(const HeldBackSamples both, HoldBackSamples(one, 64, 1, CancelToken()));
  EXPECT_EQ(both.held_back->size(), 1);
  EXPECT_EQ(both.calibration->size(), 1);
}

}  // namespace
}  // namespace qb

#include "core/evaluate/culprits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "core/base/testing/status_matchers.h"
#include "core/evaluate/codes.h"
#include "core/evaluate/layer_sums.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

LayerMetrics Layer(const std::string& name, double db, double rounding_db) {
  LayerMetrics layer;
  layer.name = name;
  layer.sqnr_db = db;
  layer.rounding_db = rounding_db;
  return layer;
}

TEST(Culprits, RankLayersByTheirShareOfTheNoise) {
  const std::vector<LayerMetrics> layers = {Layer("good", 60, 60), Layer("worse", 20, 20),
                                            Layer("worst", 10, 10), Layer("moves", 200, 200)};
  const std::vector<Culprit> culprits = FindCulprits(layers);
  ASSERT_EQ(culprits.size(), 2u);
  EXPECT_EQ(culprits[0].layer, "worst");
  EXPECT_NEAR(culprits[0].noise_share, 0.1 / 0.110001, 1e-6);
  EXPECT_EQ(culprits[1].layer, "worse");
}

TEST(Culprits, SayWhatHelps) {
  LayerMetrics codes = Layer("codes", 20, 20.5);
  codes.dead_code_share = 0.8;
  LayerMetrics narrow = Layer("narrow", 20, 20.5);
  narrow.only_8_bits = "it is a table";
  LayerMetrics weights = Layer("weights", 20, 50);
  weights.weight_bits = 8;
  LayerMetrics fewer = Layer("fewer", 20, 50);
  fewer.weight_bits = 4;
  LayerMetrics clipped = Layer("clipped", 20, 20.5);
  clipped.clipping_share = 0.9;
  clipped.saturation_share = 0.0001;
  LayerMetrics operands = Layer("operands", 20, 50);
  operands.bias_share = 0.4;
  const std::vector<Culprit> culprits =
      FindCulprits(std::vector<LayerMetrics>{codes, narrow, weights, fewer, clipped, operands});
  ASSERT_EQ(culprits.size(), 6u);
  EXPECT_EQ(culprits[0].setting, "bit.layerOverrides.activation16Bits");
  EXPECT_THAT(culprits[0].reason, HasSubstr("80 % of them"));
  EXPECT_EQ(culprits[1].setting, "");
  EXPECT_THAT(culprits[1].reason, HasSubstr("it cannot have 16: it is a table"));
  EXPECT_EQ(culprits[2].setting, "bit.layerOverrides.weight16Bits");
  EXPECT_EQ(culprits[3].setting, "bit.layerOverrides.weight8Bits");
  EXPECT_EQ(culprits[4].setting, "calibration.maxPercentile.percentile");
  EXPECT_THAT(culprits[4].reason, HasSubstr("0.010 % of its values"));
  EXPECT_THAT(culprits[5].reason, HasSubstr("40 % of the error up to here is a shift"));
  EXPECT_EQ(SuggestedSettings(culprits).Dump(),
            R"({"bit":{"layerOverrides":{"activation16Bits":["codes"],"weight16Bits":["weights"],)"
            R"("weight8Bits":["fewer"]}},"calibration":{"maxPercentile":{"percentile":0.99999}}})");
}

constexpr char kModel[] = R"(
  x = Input float32[1x8x8x4]
  w = InputConstant float32[8x3x3x4] random(7)
  c = Convolution(x, w) {h_kernel=3, w_kernel=3, channel_last=true, activation="relu"}
  v = InputConstant float32[8x3x3x8] random(9)
  d = Convolution(c, v) {h_kernel=3, w_kernel=3, channel_last=true}
  y = Output(d)
)";

// The advice, taken, removes what it was given for.
TEST(Culprits, TheSettingRemovesTheNoise) {
  const absl::StatusOr<Graph> graph = testing::ParseGraph(kModel);
  QB_ASSERT_OK(graph);
  const auto data = MakeRandomDataset(testing::InputsOf(*graph), 6, 5);
  const auto judge = [&](const LayerOverrides& overrides, int weight_bits) {
    QuantizationOptions options;
    options.overrides = overrides;
    absl::StatusOr<QuantizedModel> model = testing::QuantizeGraph(*graph, *data, options);
    QB_EXPECT_OK(model);
    NullProgressSink sink;
    absl::StatusOr<std::vector<LayerMetrics>> layers =
        EvaluateLayers({*graph, model->network}, *data, {}, sink, CancelToken());
    QB_EXPECT_OK(layers);
    AddLayerFacts(
        *graph,
        Json::Array().Append(Json::Object().Set("name", "c").Set("weight_bits", weight_bits)),
        *layers);
    return *std::move(layers);
  };
  LayerOverrides four;
  four.weight4 = {"c"};
  const std::vector<LayerMetrics> bad = judge(four, 4);
  const std::vector<Culprit> culprits = FindCulprits(bad);
  ASSERT_FALSE(culprits.empty());
  EXPECT_EQ(culprits[0].layer, "c");
  EXPECT_GT(culprits[0].noise_share, 0.5);
  EXPECT_EQ(culprits[0].setting, "bit.layerOverrides.weight8Bits");
  EXPECT_EQ(culprits[0].value.Dump(), R"(["c"])");
  const std::vector<LayerMetrics> better = judge({}, 8);
  EXPECT_GT(better[1].sqnr_db, bad[1].sqnr_db + 6.0);
  EXPECT_EQ(better[1].name, "c");
  EXPECT_EQ(better[1].only_8_bits, "");
}

integer::TensorInfo Codes(float scale, int32_t zero_point, const Shape& shape) {
  integer::TensorInfo info;
  info.shape = shape;
  info.scale = scale;
  info.zero_point = zero_point;
  return info;
}

TEST(LayerSums, CountWhatTheCodesMeet) {
  // Codes cover [0, 255]: the histogram [-127.5, 382.5].
  const integer::TensorInfo info = Codes(1.0f, -128, {4});
  LayerSums sums;
  CountValues(Tensor::OfFloats({4}, {0.25f, 255.25f, 300.0f, 1000.0f}), info, sums);
  EXPECT_EQ(sums.elements, 4);
  EXPECT_EQ(sums.saturated, 2);
  EXPECT_EQ(sums.clipped, 45.0 * 45.0 + 745.0 * 745.0);
  EXPECT_EQ(sums.codes[0], 1);
  EXPECT_EQ(sums.codes[255], 3);
  EXPECT_EQ(sums.DeadCodeShare(info), 254.0 / 256.0);
  EXPECT_EQ(sums.bins[32], 1);  // 0.25
  EXPECT_EQ(sums.bins[95], 1);  // 255.25 rounds to the last code
  EXPECT_EQ(sums.bins[static_cast<size_t>(kHistogramBins) - 1], 1);  // 1000
  LayerSums symmetric;
  CountValues(Tensor::OfFloats({4}, {0, 0, 0, 0}), Codes(1.0f, 0, {4}), symmetric);
  EXPECT_EQ(symmetric.DeadCodeShare(Codes(1.0f, 0, {4})), 254.0 / 255.0);
}

TEST(LayerSums, TellHowManyBitsTheValuesUse) {
  std::vector<float> every(256), outlier(256, 1.0f);
  std::iota(every.begin(), every.end(), 0.0f);
  std::fill(outlier.begin(), outlier.begin() + 64, 255.0f);
  const integer::TensorInfo info = Codes(1.0f, -128, {256});
  LayerSums all, few, one;
  CountValues(Tensor::OfFloats({256}, every), info, all);
  CountValues(Tensor::OfFloats({256}, outlier), info, few);
  CountValues(Tensor::OfFloats({256}, std::vector<float>(256, 7.0f)), info, one);
  EXPECT_EQ(all.EffectiveBits(), 8.0);
  EXPECT_NEAR(few.EffectiveBits(), 0.811278, 1e-6);  // a quarter and three quarters
  EXPECT_EQ(one.EffectiveBits(), 0.0);
}

TEST(LayerSums, KnowStepsAndZeroPointsByChannel) {
  // Channel 0 covers [-128, 127], channel 1 [0, 25.5]; they lie along the first axis.
  integer::TensorInfo info = Codes(1.0f, 0, {2, 3});
  info.channel_factors = {1.0f, 0.1f};
  info.channel_zero_points = {0, -128};
  info.channel_axis = 0;
  LayerSums sums;
  const Tensor real = Tensor::OfFloats({2, 3}, {-100, 3, 200, 0.1f, 20, 30});
  CountValues(real, info, sums);
  EXPECT_EQ(sums.saturated, 2);  // 200 and 30
  EXPECT_EQ(CodeRangeOf(info).low, -128.0);
  EXPECT_EQ(CodeRangeOf(info).high, 127.0);
  const Tensor codes = QuantizeTensor(real, info);
  EXPECT_THAT(codes.values<int8_t>(), ::testing::ElementsAre(-100, 3, 127, -127, 72, 127));
  const Tensor back = DequantizeTensor(codes, info);
  EXPECT_THAT(back.values<float>(),
              ::testing::Pointwise(::testing::FloatNear(1e-5f),
                                   std::vector<float>{-100, 3, 127, 0.1f, 20, 25.5f}));
}

TEST(LayerSums, TellShiftsFromNoise) {
  const Tensor real = Tensor::OfFloats({2, 2}, {0, 0, 0, 0});
  const auto share = [&](const std::vector<float>& found) {
    LayerSums sums;
    sums.elements = 4;
    const Tensor executable = Tensor::Of<float>(DType::kFloat32, {2, 2}, found);
    sums.entire = CompareOutputs(real, executable);
    CountErrors(real, executable, sums);
    return sums.BiasShare();
  };
  EXPECT_EQ(share({1, 3, 1, 3}), 1.0);    // each channel is shifted
  EXPECT_EQ(share({1, -1, -1, 1}), 0.0);  // nothing but noise
  EXPECT_EQ(share({0, 0, 0, 0}), 0.0);
}

TEST(LayerSums, AreAddedInTheOrderOfTheSamples) {
  const auto of = [](double noise) {
    std::vector<LayerSums> layers(1);
    layers[0].single.noise = noise;
    return layers;
  };
  // In floating point (1 + 1e20) - 1e20 is 0, (1e20 - 1e20) + 1 is 1.
  OrderedLayerSums sums(1);
  sums.Add(2, of(1));
  sums.Add(0, of(1e20));
  sums.Add(1, of(-1e20));
  EXPECT_THAT(sums.Take()[0].single.noise, 1.0);
}

}  // namespace
}  // namespace qb

#include "core/quantization/channel_factors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/base/testing/status_matchers.h"
#include "core/quantization/quantize.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using testing::InputsOf;
using testing::Measure;
using testing::ParseGraph;
using testing::QuantizeGraph;

// Channels of `c` reach from 0.01 to 10; `reader` reads `s`.
std::string Uneven(const std::string& between, const std::string& reader) {
  return absl::StrCat(R"(
    x = Input float32[1x8x8x4]
    u = InputConstant float32[4x1x1x1] [10.0, 1.0, 0.1, 0.01]
    c = Convolution(x, u) {group_number=4, channel_last=true}
    s = )",
                      between, "(c)\n", reader, "\n    y = Output(d)");
}

constexpr char kDepthwise[] = R"(
    w = InputConstant float32[4x1x1x1] [0.1, 1.0, 10.0, 100.0]
    d = Convolution(s, w) {group_number=4, channel_last=true})";

double SqnrOf(const std::string& body, const std::string& factored) {
  const absl::StatusOr<Graph> graph = ParseGraph(body);
  EXPECT_THAT(graph, testing::IsOk());
  const auto set = MakeRandomDataset(InputsOf(*graph), 8, 5);
  const absl::StatusOr<QuantizedModel> model = QuantizeGraph(*graph, *set);
  EXPECT_THAT(model, testing::IsOk());
  for (const integer::TensorInfo& tensor : model->network.tensors) {
    EXPECT_EQ(tensor.channel_factors.empty(), tensor.name != factored) << tensor.name;
  }
  return Measure(*graph, model->network, *set).sqnr_db;
}

TEST(ChannelFactors, KeepTheSmallChannelsOfATable) {
  EXPECT_GT(SqnrOf(Uneven("Swish", kDepthwise), "s"), 35.0);
}

TEST(ChannelFactors, KeepTheSmallChannelsOfALayer) {
  const std::string fused = absl::StrCat(R"(
    x = Input float32[1x8x8x4]
    u = InputConstant float32[4x1x1x1] [10.0, 1.0, 0.1, 0.01]
    s = Convolution(x, u) {group_number=4, channel_last=true, activation="relu"})",
                                         kDepthwise, "\n    y = Output(d)");
  EXPECT_GT(SqnrOf(fused, "s"), 35.0);
}

// With 16 bits the codes have precision to spare, the weights that meet uneven channels do not.
TEST(ChannelFactors, EvenOutTheWeightsThatReadA16BitValue) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
    x = Input float32[1x8x8x4]
    u = InputConstant float32[4x1x1x1] [10.0, 1.0, 0.1, 0.01]
    c = Convolution(x, u) {group_number=4, channel_last=true}
    w = InputConstant float32[1x1x1x4] [0.123, 1.234, 12.345, 123.456]
    d = Convolution(c, w) {channel_last=true}
    y = Output(d))");
  ASSERT_THAT(graph, testing::IsOk());
  const auto set = MakeRandomDataset(InputsOf(*graph), 8, 5);
  QuantizationOptions options;
  options.overrides.activation16 = {"x", "c", "d"};
  const absl::StatusOr<QuantizedModel> model = QuantizeGraph(*graph, *set, options);
  ASSERT_THAT(model, testing::IsOk());
  for (const integer::TensorInfo& tensor : model->network.tensors) {
    EXPECT_EQ(tensor.channel_factors.empty(), tensor.name != "c") << tensor.name;
  }
  // With one step for all channels the first weight would round to zero.
  EXPECT_GT(Measure(*graph, model->network, *set).sqnr_db, 40.0);
}

TEST(ChannelFactors, NeedLayersWithWeightsAsReaders) {
  // The addition would have to rescale by channel.
  SqnrOf(Uneven("Swish", "    d = Adding(s, x)"), "");
  SqnrOf(Uneven("Swish", absl::StrCat(kDepthwise, "\n    z = Output(s)")), "");
}

// A wide and a narrow branch: their codes stand side by side as they are.
constexpr char kBranches[] = R"(
    x = Input float32[1x8x8x4]
    u = InputConstant float32[4x1x1x1] [10.0, 10.0, 10.0, 10.0]
    v = InputConstant float32[4x1x1x1] [0.01, 0.01, 0.01, 0.01]
    a = Convolution(x, u) {group_number=4, channel_last=true}
    b = Convolution(x, v) {group_number=4, channel_last=true}
    p = Output(a)
    q = Output(b)
    j = Concatenate(a, b) {axis=3}
    w = InputConstant float32[8x1x1x1] [0.1, 0.2, 0.3, 0.4, 100.0, 200.0, 300.0, 400.0])";

TEST(ChannelFactors, ConcatenationsKeepTheStepsOfTheirParts) {
  const std::string body = absl::StrCat(kBranches, R"(
    d = Convolution(j, w) {group_number=8, channel_last=true}
    y = Output(d))");
  EXPECT_GT(SqnrOf(body, "j"), 35.0);
}

TEST(ChannelFactors, ConcatenationsThatOthersReadHaveOneStep) {
  SqnrOf(absl::StrCat(kBranches, R"(
    d = Convolution(j, w) {group_number=8, channel_last=true}
    y = Output(d)
    z = Output(j))"),
         "");
}

// Each part of a concatenation has steps by channel as well, weighed with what stands beside it.
TEST(ChannelFactors, PartsOfConcatenationsHaveTheirOwn) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
    x = Input float32[1x8x8x4]
    u = InputConstant float32[4x1x1x1] [10.0, 1.0, 0.1, 0.01]
    v = InputConstant float32[4x1x1x1] [0.01, 0.01, 0.01, 0.01]
    a = Convolution(x, u) {group_number=4, channel_last=true}
    b = Convolution(x, v) {group_number=4, channel_last=true}
    j = Concatenate(a, b) {axis=3}
    w = InputConstant float32[8x1x1x1] [0.1, 1.0, 10.0, 100.0, 100.0, 100.0, 100.0, 100.0]
    d = Convolution(j, w) {group_number=8, channel_last=true}
    y = Output(d))");
  ASSERT_THAT(graph, testing::IsOk());
  const auto set = MakeRandomDataset(InputsOf(*graph), 8, 5);
  const absl::StatusOr<QuantizedModel> model = QuantizeGraph(*graph, *set);
  ASSERT_THAT(model, testing::IsOk());
  std::map<std::string, integer::TensorInfo> tensors;
  for (const integer::TensorInfo& tensor : model->network.tensors) {
    tensors[tensor.name] = tensor;
  }
  const integer::TensorInfo& part = tensors.at("a");
  const integer::TensorInfo& joined = tensors.at("j");
  ASSERT_EQ(part.channel_factors.size(), 4u);
  ASSERT_EQ(joined.channel_factors.size(), 8u);
  EXPECT_EQ(joined.scale, part.scale);  // the widest
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(joined.channel_factors[c], part.channel_factors[c]);
    const integer::TensorInfo& other = tensors.at("b");
    const float own = other.channel_factors.empty() ? 1.0f : other.channel_factors[c];
    EXPECT_NEAR(joined.channel_factors[4 + c], own * other.scale / part.scale, 1e-9);
  }
  EXPECT_GT(Measure(*graph, model->network, *set).sqnr_db, 35.0);
}

TEST(ChannelFactors, AreChosenForTheLayersThatRead) {
  const absl::StatusOr<Graph> graph = ParseGraph(Uneven("Swish", kDepthwise));
  ASSERT_THAT(graph, testing::IsOk());
  const Node* value = graph->FindNode("s");
  absl::flat_hash_map<const Node*, ValueScale> scales;
  scales[value].scale = 10.0f / 127.0f;
  const ChannelExtremes extremes = {{-0.2f, -0.2f, 0.0f, 0.0f}, {10.0f, 1.0f, 0.0f, 0.1f}};
  const std::vector<float> factors = ChooseChannelFactors(*value, {extremes, scales, {}});
  ASSERT_EQ(factors.size(), 4u);
  EXPECT_EQ(factors[0], 1.0f);
  EXPECT_NEAR(factors[1], 0.15f, 1e-6);        // a channel by itself: the weights do not care
  EXPECT_NEAR(factors[2], 1.0f / 1024, 1e-9);  // nothing seen
  EXPECT_NEAR(factors[3], 0.015f, 1e-6);
}

}  // namespace
}  // namespace qb

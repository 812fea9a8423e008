// 16-bit and 4-bit layers from the plan to the integers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/testing/status_matchers.h"
#include "core/quantization/lowering.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using testing::InputsOf;
using testing::Measure;
using testing::ParseGraph;
using testing::QuantizeGraph;

struct Outcome {
  double sqnr_db = -100.0;
  integer::Network network;
  std::vector<LayerReport> layers;

  DType TypeOf(const std::string& name) const {
    for (const integer::TensorInfo& tensor : network.tensors) {
      if (tensor.name == name) {
        return tensor.dtype;
      }
    }
    return DType::kFloat32;
  }
};

Outcome QuantizeWith(const std::string& body, const LayerOverrides& overrides,
                     bool correct = true) {
  const absl::StatusOr<Graph> graph = ParseGraph(body);
  QB_EXPECT_OK(graph);
  const auto set = MakeRandomDataset(InputsOf(*graph), 8, 5);
  QuantizationOptions options;
  options.calibration.mode = CalibrationMode::kMax;
  options.overrides = overrides;
  options.bias_correction.apply = correct;
  absl::StatusOr<QuantizedModel> model = QuantizeGraph(*graph, *set, options);
  QB_EXPECT_OK(model);
  if (!model.ok()) {
    return {};
  }
  Outcome outcome;
  outcome.sqnr_db = Measure(*graph, model->network, *set).sqnr_db;
  outcome.network = std::move(model->network);
  outcome.layers = std::move(model->layers);
  return outcome;
}

LayerOverrides WideActivations() {
  LayerOverrides overrides;
  overrides.activation16 = {"*"};
  return overrides;
}

LayerOverrides AllWide() {
  LayerOverrides overrides = WideActivations();
  overrides.weight16 = {"*"};
  return overrides;
}

constexpr char kNetwork[] = R"(
  x = Input float32[1x8x8x4]
  w = InputConstant float32[8x3x3x4] random(7)
  b = InputConstant float32[8] random(8)
  c = Convolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, h_stride=2, w_stride=2, channel_last=true, activation="relu"}
  d = InputConstant float32[8x3x3x1] random(9)
  e = Convolution(c, d) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, group_number=8, channel_last=true}
  a = Adding(e, c)
  g = GlobalAveragePooling(a) {channel_last=true}
  r = Reshape(g) {new_shape=[1, 8]}
  f = InputConstant float32[8x5] random(10)
  h = InputConstant float32[5] random(11)
  m = MatMul(r, f, h)
  y = Output(m)
)";

TEST(LayerBits, SixteenBitsThroughoutComeNearFloat) {
  const double plain = QuantizeWith(kNetwork, {}).sqnr_db;
  const Outcome wide = QuantizeWith(kNetwork, AllWide());
  EXPECT_GT(wide.sqnr_db, plain + 30.0);
  EXPECT_GT(wide.sqnr_db, 65.0);
  for (const LayerReport& layer : wide.layers) {
    EXPECT_EQ(layer.activation_bits, 16) << layer.name;
    EXPECT_TRUE(layer.weight_bits == 0 || layer.weight_bits == 16) << layer.name;
  }
}

TEST(LayerBits, SixteenBitsKeepElementwiseWorkAndMovement) {
  const Outcome wide = QuantizeWith(R"(
    x = Input float32[1x4x4x8]
    z = Input float32[1x4x4x8]
    v = InputConstant float32[8] random(3)
    a = Adding(x, z) {activation="relu"}
    b = Multiply(a, x)
    c = Sub(b, v)
    d = Div(c, v)
    e = Concatenate(c, d) {axis=3}
    s = DepthToSpace(e) {block_size=2, channel_last=true}
    t = SpaceToDepth(s) {block_size=2, channel_last=true}
    u = Resize(t) {transform_mode="asymmetric", nearest_mode="floor", sizes=[1, 8, 8, 16], scales=[1.0, 2.0, 2.0, 1.0]}
    p = Pad(u) {padding_list=[0, 1, 0, 0, 0, 0, 2, 0], constant=0.5}
    q = Slice(p) {axis=[1, 3], start=[8, 0], end=[-1, 16], step=[-2, 3]}
    r = ReduceMean(q) {reduce_axes=[2], keep_dims=false}
    y = Output(r))",
                                    WideActivations());
  EXPECT_GT(wide.sqnr_db, 65.0);
}

TEST(LayerBits, SixteenBitsKeepProductsOfTwoValues) {
  EXPECT_GT(QuantizeWith(R"(
    x = Input float32[2x6x4]
    z = Input float32[4x5]
    m = MatMul(x, z)
    y = Output(m))",
                         WideActivations())
                .sqnr_db,
            70.0);
}

TEST(LayerBits, SixteenBitsKeepSoftmaxOnAnyAxis) {
  for (const int axis : {1, 2}) {
    const std::string body =
        absl::StrCat("x = Input float32[1x5x10]\ns = Softmax(x) {axis=", axis, "}\ny = Output(s)");
    EXPECT_GT(QuantizeWith(body, WideActivations()).sqnr_db, 70.0) << axis;
    LayerOverrides logits;
    logits.activation16 = {"x"};  // the result keeps its 8 bits
    EXPECT_GT(QuantizeWith(body, logits).sqnr_db, QuantizeWith(body, {}).sqnr_db) << axis;
  }
}

TEST(LayerBits, SixteenBitsKeepNormalizations) {
  EXPECT_GT(QuantizeWith(R"(
    x = Input float32[1x5x16]
    s = InputConstant float32[16] random(1)
    b = InputConstant float32[16] random(2)
    n = LayerNormalization(x, s, b) {axis=2}
    y = Output(n))",
                         WideActivations())
                .sqnr_db,
            70.0);
}

TEST(LayerBits, AWideLayerReadsAndWritesSixteenBits) {
  LayerOverrides overrides;
  overrides.activation16 = {"e"};
  const Outcome outcome = QuantizeWith(kNetwork, overrides);
  EXPECT_EQ(outcome.TypeOf("x/codes"), DType::kInt8);
  EXPECT_EQ(outcome.TypeOf("c"), DType::kInt16);
  EXPECT_EQ(outcome.TypeOf("e"), DType::kInt16);
  EXPECT_EQ(outcome.TypeOf("a"), DType::kInt8);  // an addition takes operands of any width
  EXPECT_EQ(outcome.TypeOf("m"), DType::kInt8);
}

TEST(LayerBits, ANarrowReaderGetsARescaledTensor) {
  LayerOverrides overrides;
  overrides.activation16 = {"c"};
  const Outcome outcome = QuantizeWith(R"(
    x = Input float32[1x8x8x4]
    w = InputConstant float32[8x1x1x4] random(7)
    c = Convolution(x, w) {channel_last=true}
    s = Sigmoid(c)
    m = Pooling(c) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2, channel_last=true}
    y = Output(s)
    z = Output(m)
    u = Output(c))",
                                       overrides);
  EXPECT_GT(outcome.sqnr_db, 35.0);
  int rescaled = 0;
  for (const integer::Layer& layer : outcome.network.layers) {
    rescaled += std::holds_alternative<integer::RequantParams>(layer.params) ? 1 : 0;
  }
  EXPECT_EQ(rescaled, 1);  // both read the same one
  EXPECT_EQ(outcome.TypeOf("c/narrow"), DType::kInt8);
}

TEST(LayerBits, ATableOfSixteenBitsCanGiveThem) {
  constexpr char kTables[] = R"(
    x = Input float32[1x8x8x4]
    w = InputConstant float32[8x1x1x4] random(7)
    c = Convolution(x, w) {channel_last=true}
    s = Swish(c)
    t = Tanh(s)
    y = Output(s)
    z = Output(t))";
  const Outcome plain = QuantizeWith(kTables, {});
  EXPECT_EQ(plain.TypeOf("c"), DType::kInt16);
  EXPECT_EQ(plain.TypeOf("s"), DType::kInt8);
  const Outcome wide = QuantizeWith(kTables, AllWide());
  EXPECT_EQ(wide.TypeOf("s"), DType::kInt16);
  EXPECT_EQ(wide.TypeOf("t"), DType::kInt16);
  EXPECT_GT(wide.sqnr_db, 60.0);
}

TEST(LayerBits, FewerBitsCostAccuracyInOrder) {
  std::map<int, double> sqnr;
  for (const int bits : {4, 8, 16}) {
    LayerOverrides overrides;
    overrides.activation16 = {"*"};
    (bits == 4 ? overrides.weight4 : bits == 8 ? overrides.weight8 : overrides.weight16) = {"*"};
    sqnr[bits] = QuantizeWith(kNetwork, overrides).sqnr_db;
  }
  EXPECT_GT(sqnr[4], 12.0);
  EXPECT_GT(sqnr[8], sqnr[4] + 15.0);
  EXPECT_GT(sqnr[16], sqnr[8] + 20.0);
}

TEST(LayerBits, BiasCorrectionReachesWideLayers) {
  LayerOverrides overrides;
  overrides.activation16 = {"*"};
  overrides.weight4 = {"*"};
  const Outcome plain = QuantizeWith(kNetwork, overrides, /*correct=*/false);
  const Outcome corrected = QuantizeWith(kNetwork, overrides);
  EXPECT_GT(corrected.sqnr_db, plain.sqnr_db + 1.0);
  for (const LayerReport& layer : corrected.layers) {
    EXPECT_EQ(layer.largest_bias_shift > 0.0, layer.weight_bits > 0) << layer.name;
  }
}

TEST(LayerBits, OneLayersMethodDecidesWhetherItsOperandsShare) {
  constexpr char kBody[] = R"(
    x = Input float32[1x4]
    z = Input float32[1x4]
    k = InputConstant float32[scalar] [1.5]
    s = Multiply(z, k)
    a = Adding(x, s)
    y = Output(a))";
  const auto scales = [&](const std::map<std::string, int64_t>& method) {
    LayerOverrides overrides;
    overrides.method = method;
    const Outcome outcome = QuantizeWith(kBody, overrides);
    std::map<std::string, float> result;
    for (const LayerReport& layer : outcome.layers) {
      result[layer.name] = layer.scale;
    }
    return result;
  };
  EXPECT_EQ(scales({}).at("x"), scales({}).at("s"));
  EXPECT_EQ(scales({{"a", 1}}).at("x"), scales({}).at("x"));
  EXPECT_NE(scales({{"a", 0}}).at("x"), scales({{"a", 0}}).at("s"));
}

}  // namespace
}  // namespace qb

#include "core/quantization/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/calibration/testing/memory_dataset.h"
#include "core/execute/executor.h"
#include "core/integer/run_layer.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

using testing::InputsOf;
using testing::Measure;
using testing::Noise;
using testing::ParseGraph;
using testing::QuantizeGraph;
using testing::RunInteger;

double SqnrOf(const std::string& body) {
  const absl::StatusOr<Graph> graph = ParseGraph(body);
  EXPECT_THAT(graph, testing::IsOk());
  const auto set = MakeRandomDataset(InputsOf(*graph), 16, 5);
  QuantizationOptions options;
  options.calibration.mode = CalibrationMode::kMax;
  const absl::StatusOr<QuantizedModel> model = QuantizeGraph(*graph, *set, options);
  EXPECT_THAT(model, testing::IsOk());
  return model.ok() ? Measure(*graph, model->network, *set).sqnr_db : -100.0;
}

constexpr char kConv[] = R"(
  x = Input float32[1x8x8x4]
  w = InputConstant float32[8x3x3x4] random(7)
  b = InputConstant float32[8] random(8)
  c = Convolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, h_stride=2, w_stride=2, channel_last=true, activation="relu"}
  d = InputConstant float32[8x3x3x1] random(9)
  e = Convolution(c, d) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, group_number=8, channel_last=true}
  g = GlobalAveragePooling(e) {channel_last=true}
  r = Reshape(g) {new_shape=[1, 8]}
  f = InputConstant float32[8x5] random(10)
  h = InputConstant float32[5] random(11)
  m = MatMul(r, f, h)
)";

TEST(Quantize, KeepsAConvolutionalNetwork) {
  EXPECT_GT(SqnrOf(absl::StrCat(kConv, "y = Output(m)")), 28.0);
}

TEST(Quantize, KeepsTheBoundaryLayout) {
  EXPECT_GT(SqnrOf(R"(
    x = Input float32[1x4x8x6]
    t = Transpose(x) {transpose_axes=[0, 2, 3, 1]}
    w = InputConstant float32[3x1x1x4] random(7)
    c = Convolution(t, w) {channel_last=true}
    u = Transpose(c) {transpose_axes=[0, 3, 1, 2]}
    y = Output(u))"),
            35.0);
}

TEST(Quantize, KeepsElementwiseWork) {
  EXPECT_GT(SqnrOf(R"(
    x = Input float32[1x4x4x8]
    z = Input float32[1x4x4x8]
    v = InputConstant float32[8] random(3)
    a = Adding(x, z) {activation="relu"}
    b = Multiply(a, x)
    c = Sub(b, v)
    d = Div(c, v)
    s = Swish(c)
    e = Concatenate(c, s) {axis=3}
    y = Output(e))"),
            30.0);
}

TEST(Quantize, KeepsPoolingAndMovement) {
  EXPECT_GT(SqnrOf(R"(
    x = Input float32[1x8x8x8]
    m = Pooling(x) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, north_padding=1, west_padding=1, south_padding=1, east_padding=1, channel_last=true}
    a = Pooling(x) {pool_type="average", h_kernel=2, w_kernel=2, h_stride=2, w_stride=2, channel_last=true}
    c = Concatenate(m, a) {axis=3}
    d = DepthToSpace(c) {block_size=2, channel_last=true}
    s = SpaceToDepth(d) {block_size=2, channel_last=true}
    u = Resize(s) {transform_mode="asymmetric", nearest_mode="floor", sizes=[1, 8, 8, 16], scales=[1.0, 2.0, 2.0, 1.0]}
    p = Pad(u) {padding_list=[0, 1, 0, 0, 0, 0, 2, 0], constant=0.5}
    q = Slice(p) {axis=[1, 3], start=[8, 0], end=[-1, 16], step=[-2, 3]}
    r = ReduceMean(q) {reduce_axes=[2], keep_dims=false}
    y = Output(r))"),
            28.0);
}

TEST(Quantize, KeepsMaximaOverNeighbouringAxes) {
  for (const char* axes : {"[0]", "[1]", "[2]", "[1, 2]", "[2, 3]", "[0, 1, 2, 3]"}) {
    for (const char* keep : {"true", "false"}) {
      EXPECT_GT(SqnrOf(absl::StrCat("x = Input float32[2x5x4x3]\nm = ReduceMax(x) {reduce_axes=",
                                    axes, ", keep_dims=", keep, "}\ny = Output(m)")),
                32.0)
          << axes;
    }
  }
}

TEST(Quantize, KeepsGlobalMaxima) {
  EXPECT_GT(SqnrOf("x = Input float32[1x5x4x3]\n"
                   "m = ReduceMax(x) {reduce_axes=[1, 2], keep_dims=false}\ny = Output(m)"),
            35.0);
}

TEST(Quantize, KeepsAnEvenGather) {
  EXPECT_GT(SqnrOf(R"(
    x = Input float32[2x5x3]
    i = InputConstant int64[2] [3, 1]
    j = InputConstant int64[scalar] [-1]
    g = Gather(x, i) {axis=1}
    h = Gather(g, j) {axis=0}
    y = Output(h))"),
            35.0);
}

TEST(Quantize, KeepsGatherOfAnyPlacesAndExpand) {
  EXPECT_GT(SqnrOf(R"(
    x = Input float32[1x5x1x3]
    i = InputConstant int64[2x3] [3, 1, 1, 0, -1, 2]
    g = Gather(x, i) {axis=1}
    e = Expand(g) {shape=[4, 2, 3, 2, 3]}
    y = Output(e))"),
            35.0);
  EXPECT_GT(SqnrOf(R"(
    x = Input float32[2x1x1x3x1]
    e = Expand(x) {shape=[2, 3, 4, 3, 5]}
    y = Output(e))"),
            35.0);
}

TEST(Quantize, KeepsSoftmaxOnAnyAxis) {
  EXPECT_GT(SqnrOf("x = Input float32[1x3x10]\ns = Softmax(x) {axis=2}\ny = Output(s)"), 30.0);
  EXPECT_GT(SqnrOf("x = Input float32[1x10x3]\ns = Softmax(x) {axis=1}\ny = Output(s)"), 30.0);
}

// With codes for the mask's range all scores were one code, and the softmax a plain mean.
TEST(Quantize, KeepsScoresBesideAMask) {
  const std::string start = R"(
    x = Input float32[1x4x8]
    mask = InputConstant float32[4x8] [0, -10000, 0, 0, 0, 0, -10000, -10000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -10000, 0, 0, 0, 0, -10000, -10000, 0, 0, 0, 0, 0, 0]
  )";
  EXPECT_GT(SqnrOf(start + "a = Adding(x, mask)\ns = Softmax(a) {axis=2}\ny = Output(s)"), 25.0);
  EXPECT_GT(SqnrOf(start + "a = Adding(x, mask)\ns = Softmax(a) {axis=2, beta=2.0}\ny = Output(s)"),
            25.0);
  // A sum that something else reads keeps its range.
  EXPECT_GT(
      SqnrOf(start + "a = Adding(x, mask)\ns = Softmax(a) {axis=2}\ny = Output(a)\nz = Output(s)"),
      35.0);
}

TEST(Quantize, KeepsLayerAndRmsNormalization) {
  const std::string start = R"(
    x = Input float32[1x5x16]
    s = InputConstant float32[16] random(1)
    b = InputConstant float32[16] random(2)
    t = InputConstant float32[5x16] random(3)
  )";
  EXPECT_GT(SqnrOf(start + "n = LayerNormalization(x, s, b) {axis=2}\ny = Output(n)"), 30.0);
  EXPECT_GT(SqnrOf(start + "n = LayerNormalization(x, t) {axis=1}\ny = Output(n)"), 30.0);
  EXPECT_GT(SqnrOf(start + "n = RmsNormalization(x, s) {axis=2}\ny = Output(n)"), 30.0);
}

TEST(Quantize, KeepsProductsOfTwoValues) {
  EXPECT_GT(SqnrOf(R"(
    x = Input float32[2x6x4]
    z = Input float32[4x5]
    m = MatMul(x, z)
    y = Output(m))"),
            35.0);
}

// Everything that the kernels read.
std::string Fingerprint(const integer::Network& network) {
  std::string text;
  for (const integer::TensorInfo& tensor : network.tensors) {
    absl::StrAppend(&text, tensor.name, " ", tensor.shape.ToString(), " ",
                    absl::Hex(std::bit_cast<uint32_t>(tensor.scale)), " ", tensor.zero_point, "\n");
  }
  for (const integer::Layer& layer : network.layers) {
    absl::StrAppend(&text, layer.name, " ", layer.params.index(), "\n");
    if (const auto* conv = std::get_if<integer::ConvParams>(&layer.params)) {
      for (const int8_t weight : conv->weights) {
        absl::StrAppend(&text, static_cast<int>(weight), ",");
      }
      for (size_t m = 0; m < conv->bias.size(); ++m) {
        absl::StrAppend(&text, conv->bias[m], "/", conv->requant[m].mantissa, "/",
                        conv->requant[m].shift, ",");
      }
    }
  }
  return text;
}

TEST(Quantize, DoesNotDependOnOrderOrThreads) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(absl::StrCat(kConv, "y = Output(m)")));
  const auto set = MakeRandomDataset(InputsOf(graph), 50, 5);
  QuantizationOptions options;
  options.calibration.percentile = 0.99;
  options.bias_correction.samples = 10;
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel one, QuantizeGraph(graph, *set, options));
  EXPECT_EQ(one.bias_correction_samples, 10);
  options.calibration.threads = 2;
  auto samples = testing::SamplesOf(*set);
  for (int round = 0; round < 3; ++round) {
    std::shuffle(samples.begin(), samples.end(), std::mt19937(static_cast<uint32_t>(round)));
    const testing::MemoryDataset shuffled(samples);
    QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel two, QuantizeGraph(graph, shuffled, options));
    EXPECT_EQ(Fingerprint(one.network), Fingerprint(two.network));
  }
}

TEST(Quantize, BiasCorrectionTakesTheOffsetOut) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(R"(
    x = Input float32[1x64]
    r = Relu(x)
    w = InputConstant float32[64x3] random(21)
    m = MatMul(r, w)
    s = Sigmoid(m)
    w2 = InputConstant float32[3x2] random(22)
    n = MatMul(s, w2)
    y = Output(n))"));
  const auto set = MakeRandomDataset(InputsOf(graph), 32, 5);
  QuantizationOptions options;
  options.calibration.mode = CalibrationMode::kMax;
  options.overrides.weight4 = {"m", "n"};  // an offset to speak of
  options.bias_correction.apply = false;
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel plain, QuantizeGraph(graph, *set, options));
  options.bias_correction.apply = true;
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel corrected, QuantizeGraph(graph, *set, options));
  const Noise before = Measure(graph, plain.network, *set);
  const Noise after = Measure(graph, corrected.network, *set);
  EXPECT_LT(std::abs(after.mean), 0.5 * std::abs(before.mean) + 1e-4);
  EXPECT_GE(after.sqnr_db, before.sqnr_db - 0.5);
}

TEST(Quantize, CorrectsOnlyTheSelectedLayers) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(absl::StrCat(kConv, "y = Output(m)")));
  const auto set = MakeRandomDataset(InputsOf(graph), 8, 5);
  QuantizationOptions options;
  options.bias_correction.exclude_layers = {"c", "e"};
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel model, QuantizeGraph(graph, *set, options));
  for (const LayerReport& layer : model.layers) {
    EXPECT_EQ(layer.largest_bias_shift > 0.0, layer.name == "m") << layer.name;
  }
  options.bias_correction.exclude_layers = {"conv*"};
  const absl::Status status = QuantizeGraph(graph, *set, options).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kArgumentError);
  EXPECT_THAT(std::string(status.message()), HasSubstr("excludeLayers: 'conv*' matches no layer"));
}

TEST(Quantize, ReportsEveryTensor) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(absl::StrCat(kConv, "y = Output(m)")));
  const auto set = MakeRandomDataset(InputsOf(graph), 8, 5);
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel model, QuantizeGraph(graph, *set));
  ASSERT_EQ(model.layers.size(), 6u);
  const LayerReport& conv = model.layers[1];
  EXPECT_EQ(conv.name, "c");
  EXPECT_EQ(conv.op, "Convolution");
  EXPECT_EQ(conv.weight_bits, 8);
  EXPECT_EQ(conv.zero_point, -128);
  EXPECT_GT(conv.threshold, 0.0);
  EXPECT_GE(conv.largest_seen, conv.threshold);
  EXPECT_GT(conv.largest_weight_scale, 0.0f);
}

TEST(Quantize, NamesALayerWithoutAnIntegerForm) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(R"(
    x = Input float32[1x8]
    m = ReduceMin(x) {reduce_axes=[1]}
    y = Output(m))"));
  const auto set = MakeRandomDataset(InputsOf(graph), 2, 5);
  const absl::Status status = QuantizeGraph(graph, *set).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kUnsupportedOperator);
  EXPECT_THAT(std::string(status.message()), HasSubstr("layer 'm' (ReduceMin)"));
}

TEST(Quantize, SurvivesBoundsThatMakeNoSense) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(R"(
    x = Input float32[1x4x4x2]
    p = Pad(x) {padding_list=[0, 1, 1, 0, 0, 1, 1, 0], constant=-3e38}
    m = Pooling(p) {h_kernel=3, w_kernel=3, channel_last=true}
    c = Clip(m) {clip_min_value=2.0, clip_max_value=-1.0}
    y0 = Output(m)
    y1 = Output(c))"));
  const auto set = MakeRandomDataset(InputsOf(graph), 4, 5);
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel model, QuantizeGraph(graph, *set));
  EXPECT_GT(Measure(graph, model.network, *set).sqnr_db, 30.0);
}

TEST(Quantize, SurvivesAModelThatIsAlwaysZero) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(R"(
    x = Input float32[1x4x4x2]
    w = InputConstant float32[2x1x1x2] splat(0)
    c = Convolution(x, w) {channel_last=true}
    s = Adding(c, x)
    y = Output(s))"));
  const testing::MemoryDataset set({{Tensor::Allocate({DType::kFloat32, {1, 4, 4, 2}})}});
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel model, QuantizeGraph(graph, set));
  const std::vector<Tensor> outputs =
      RunInteger(model.network, {Tensor::Allocate({DType::kFloat32, {1, 4, 4, 2}})});
  for (const float value : outputs[0].values<float>()) {
    EXPECT_EQ(value, 0.0f);
  }
}

TEST(Quantize, KeepsATransposedConvolution) {
  EXPECT_GT(SqnrOf(R"(
    x = Input float32[1x5x6x8]
    w = InputConstant float32[12x3x3x4] random(7)
    b = InputConstant float32[12] random(8)
    c = TransposeConvolution(x, w, b) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=3, north_padding=1, west_padding=2, east_padding=1, south_out_padding=1, east_out_padding=2, group_number=2, channel_last=true}
    v = InputConstant float32[4x1x1x12] random(9)
    d = Convolution(c, v) {channel_last=true, activation="relu"}
    y = Output(d))"),
            30.0);
}

TEST(Quantize, RefusesPaddingBeyondTheKernel) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
    x = Input float32[1x5x6x8]
    w = InputConstant float32[4x2x2x8] random(7)
    c = TransposeConvolution(x, w) {h_kernel=2, w_kernel=2, north_padding=2, channel_last=true}
    y = Output(c))");
  ASSERT_THAT(graph, testing::IsOk());
  const auto set = MakeRandomDataset(InputsOf(*graph), 2, 5);
  const absl::Status status = QuantizeGraph(*graph, *set).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kUnsupportedOperator);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("layer 'c' (TransposeConvolution): a padding"));
}

TEST(Quantize, KeepsSlopesOfEachSign) {
  for (const char* slope : {"[0.25, 0, -0.5, 1]", "[0.1, 0.2, 0.3, 2]"}) {
    EXPECT_GT(SqnrOf(absl::StrCat(R"(
      x = Input float32[1x5x6x4]
      s = InputConstant float32[1x1x1x4] )",
                                  slope, R"(
      p = PRelu(x, s)
      y = Output(p))")),
              32.0);
  }
}

TEST(Quantize, RefusesSlopesThatAreNotOfChannels) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
    x = Input float32[1x5x6x4]
    s = InputConstant float32[1x5x1x1] random(3)
    p = PRelu(x, s)
    y = Output(p))");
  ASSERT_THAT(graph, testing::IsOk());
  const auto set = MakeRandomDataset(InputsOf(*graph), 2, 5);
  EXPECT_THAT(std::string(QuantizeGraph(*graph, *set).status().message()),
              HasSubstr("layer 'p' (PRelu): slopes of shape 1x5x1x1"));
}

TEST(Quantize, KeepsLinearResizeInEveryMode) {
  for (const char* mode : {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}) {
    for (const char* sizes :
         {"[1, 11, 9, 4], scales=[1, 2.2, 1.5, 1]", "[1, 3, 2, 4], scales=[1, 0.6, 0.34, 1]",
          "[1, 1, 13, 4], scales=[1, 0.2, 2.2, 1]"}) {
      SCOPED_TRACE(absl::StrCat(mode, " ", sizes));
      EXPECT_GT(SqnrOf(absl::StrCat(R"(
        x = Input float32[1x5x6x4]
        r = Resize(x) {mode="linear", transform_mode=")",
                                    mode, "\", sizes=", sizes, "}\n y = Output(r)")),
                32.0);
    }
  }
}

TEST(Quantize, OneTableForEachFunction) {
  for (const char* function : {"HardSigmoid(x) {alpha=0.3}", "HardSwish(x)", "Swish(x)"}) {
    SCOPED_TRACE(function);
    const std::string body =
        absl::StrCat("x = Input float32[1x64]\n r = ", function, "\n y = Output(r)");
    EXPECT_GT(SqnrOf(body), 30.0);
    const absl::StatusOr<Graph> graph = ParseGraph(body);
    ASSERT_THAT(graph, testing::IsOk());
    const auto set = MakeRandomDataset(InputsOf(*graph), 2, 5);
    const absl::StatusOr<QuantizedModel> model = QuantizeGraph(*graph, *set);
    ASSERT_THAT(model, testing::IsOk());
    // Quantize, table, dequantize.
    ASSERT_EQ(model->network.layers.size(), 3u);
    EXPECT_TRUE(std::holds_alternative<integer::LutParams>(model->network.layers[1].params));
  }
}

}  // namespace
}  // namespace qb

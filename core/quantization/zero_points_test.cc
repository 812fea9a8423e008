// Calibration methods 2 and 3: values whose range does not lie evenly around zero.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/testing/status_matchers.h"
#include "core/calibration/testing/memory_dataset.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using testing::InputsOf;
using testing::Measure;
using testing::ParseGraph;
using testing::QuantizeGraph;

// Noise between -0.3 and 1.7.
testing::MemoryDataset ShiftedNoise(const Graph& graph) {
  auto samples = testing::SamplesOf(*MakeRandomDataset(InputsOf(graph), 16, 5));
  for (auto& sample : samples) {
    for (Tensor& tensor : sample) {
      Tensor shifted = Tensor::Allocate(tensor.type());
      for (int64_t i = 0; i < tensor.elements(); ++i) {
        shifted.mutable_data<float>()[i] = tensor.data<float>()[i] + 0.7f;
      }
      tensor = std::move(shifted);
    }
  }
  return testing::MemoryDataset(std::move(samples));
}

struct Outcome {
  double sqnr_db = -100.0;
  bool has_zero_points = false;  // besides those of values never negative
};

Outcome Quantized(const std::string& body, QuantizationMethod method) {
  const absl::StatusOr<Graph> graph = ParseGraph(body);
  EXPECT_THAT(graph, testing::IsOk());
  const testing::MemoryDataset set = ShiftedNoise(*graph);
  QuantizationOptions options;
  options.method = method;
  options.calibration.mode = CalibrationMode::kMax;
  const absl::StatusOr<QuantizedModel> model = QuantizeGraph(*graph, set, options);
  EXPECT_THAT(model, testing::IsOk());
  if (!model.ok()) {
    return {};
  }
  Outcome outcome{Measure(*graph, model->network, set).sqnr_db};
  for (const integer::TensorInfo& tensor : model->network.tensors) {
    outcome.has_zero_points =
        outcome.has_zero_points || (tensor.zero_point != 0 && tensor.zero_point != -128);
  }
  return outcome;
}

// Codes over the range that occurs are finer than codes over twice that.
void ExpectFiner(const std::string& body, double gain_db) {
  const double symmetric = Quantized(body, QuantizationMethod::kSharedScales).sqnr_db;
  for (const auto method :
       {QuantizationMethod::kSeparateZeroPoints, QuantizationMethod::kSharedZeroPoints}) {
    const Outcome shifted = Quantized(body, method);
    EXPECT_TRUE(shifted.has_zero_points);
    EXPECT_GT(shifted.sqnr_db, symmetric + gain_db) << body;
  }
}

TEST(ZeroPoints, ConvolutionsPadWithRealZero) {
  ExpectFiner(R"(
    x = Input float32[1x6x6x4]
    w = InputConstant float32[8x3x3x4] random(7)
    b = InputConstant float32[8] random(8)
    c = Convolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, channel_last=true}
    y = Output(c))",
              1.0);
  ExpectFiner(R"(
    x = Input float32[1x6x6x4]
    w = InputConstant float32[4x3x3x1] random(7)
    c = Convolution(x, w) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, group_number=4, channel_last=true}
    y = Output(c))",
              1.0);
  ExpectFiner(R"(
    x = Input float32[1x5x6x4]
    w = InputConstant float32[3x3x3x4] random(7)
    c = TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, north_padding=1, west_padding=1, channel_last=true}
    y = Output(c))",
              1.0);
}

TEST(ZeroPoints, ElementwiseWorkTakesThemOut) {
  ExpectFiner(R"(
    x = Input float32[1x4x4x8]
    z = Input float32[1x4x4x8]
    a = Adding(x, z)
    m = Multiply(a, x)
    s = Sub(m, z)
    c = Concatenate(s, x) {axis=3}
    y = Output(c))",
              2.0);
}

TEST(ZeroPoints, PoolingAndMovementKeepThem) {
  ExpectFiner(R"(
    x = Input float32[1x8x8x4]
    m = Pooling(x) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, north_padding=1, west_padding=1, south_padding=1, east_padding=1, channel_last=true}
    a = Pooling(x) {pool_type="average", h_kernel=2, w_kernel=2, h_stride=2, w_stride=2, channel_last=true}
    c = Concatenate(m, a) {axis=3}
    u = Resize(c) {transform_mode="asymmetric", mode="linear", sizes=[1, 8, 8, 8], scales=[1.0, 2.0, 2.0, 1.0]}
    p = Pad(u) {padding_list=[0, 1, 0, 0, 0, 0, 2, 0], constant=-0.25}
    q = Slice(p) {axis=[1], start=[8], end=[-1], step=[-2]}
    r = ReduceMean(q) {reduce_axes=[2], keep_dims=false}
    y = Output(r))",
              2.0);
}

TEST(ZeroPoints, TablesProductsAndSoftmaxReadThem) {
  ExpectFiner(R"(
    x = Input float32[1x6x16]
    h = HardSwish(x)
    w = InputConstant float32[16x16] random(7)
    m = MatMul(h, w)
    k = Transpose(h) {transpose_axes=[0, 2, 1]}
    q = MatMul(m, k)
    s = Softmax(q) {axis=2}
    v = MatMul(s, x)
    y = Output(v))",
              1.0);
}

TEST(ZeroPoints, OneLayerAloneCanHaveThem) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(R"(
    x = Input float32[1x8]
    w = InputConstant float32[8x8] random(7)
    m = MatMul(x, w)
    y = Output(m))"));
  QuantizationOptions options;
  options.overrides.method = {{"x", 2}};
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel model,
                          QuantizeGraph(graph, ShiftedNoise(graph), options));
  EXPECT_NE(model.layers[0].zero_point, 0);
  EXPECT_EQ(model.layers[1].zero_point, 0);
}

}  // namespace
}  // namespace qb

#include "core/quantization/equivalent/equivalent_transformation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status_macros.h"
#include "core/base/testing/status_matchers.h"
#include "core/calibration/testing/memory_dataset.h"
#include "core/ops/graph_text.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using testing::InputsOf;
using ::testing::IsEmpty;
using testing::Measure;
using testing::ParseGraph;
using testing::QuantizeGraph;

// A transformer encoder block: separate projections with two heads, Relu between up and down.
constexpr char kBlock[] = R"(
  x = Input float32[1x8x16]
  g = InputConstant float32[16] random(1)
  h = InputConstant float32[16] random(2)
  n = LayerNormalization(x, g, h) {axis=2}
  wq = InputConstant float32[16x16] random(3)
  bq = InputConstant float32[16] random(4)
  q = MatMul(n, wq, bq)
  wk = InputConstant float32[16x16] random(5)
  k = MatMul(n, wk)
  wv = InputConstant float32[16x16] random(6)
  v = MatMul(n, wv)
  q4 = Reshape(q) {new_shape=[1, 8, 2, 8]}
  qt = Transpose(q4) {transpose_axes=[0, 2, 1, 3]}
  k4 = Reshape(k) {new_shape=[1, 8, 2, 8]}
  kt = Transpose(k4) {transpose_axes=[0, 2, 3, 1]}
  v4 = Reshape(v) {new_shape=[1, 8, 2, 8]}
  vt = Transpose(v4) {transpose_axes=[0, 2, 1, 3]}
  s = MatMul(qt, kt)
  e = InputConstant float32[1] splat(0.05)
  l = Multiply(s, e)
  p = Softmax(l) {axis=3}
  a = MatMul(p, vt)
  at = Transpose(a) {transpose_axes=[0, 2, 1, 3]}
  o = Reshape(at) {new_shape=[1, 8, 16]}
  wo = InputConstant float32[16x16] random(7)
  y1 = MatMul(o, wo)
  r1 = Adding(y1, x)
  g2 = InputConstant float32[16] random(8)
  h2 = InputConstant float32[16] random(9)
  n2 = LayerNormalization(r1, g2, h2) {axis=2}
  wu = InputConstant float32[16x24] random(10)
  bu = InputConstant float32[24] random(11)
  u = MatMul(n2, wu, bu) {activation="relu"}
  wd = InputConstant float32[24x16] random(12)
  d = MatMul(u, wd)
  r2 = Adding(d, r1)
  y = Output(r2)
)";

// The projections of query, key and value in one layer, cut apart by slices.
constexpr char kFused[] = R"(
  x = Input float32[1x8x16]
  w = InputConstant float32[16x48] random(3)
  b = InputConstant float32[48] random(4)
  f = MatMul(x, w, b)
  f5 = Reshape(f) {new_shape=[1, 8, 3, 2, 8]}
  fq = Slice(f5) {axis=[2], start=[0], end=[1], step=[1]}
  fk = Slice(f5) {axis=[2], start=[1], end=[2], step=[1]}
  fv = Slice(f5) {axis=[2], start=[2], end=[3], step=[1]}
  q4 = Reshape(fq) {new_shape=[1, 8, 2, 8]}
  qt = Transpose(q4) {transpose_axes=[0, 2, 1, 3]}
  k4 = Reshape(fk) {new_shape=[1, 8, 2, 8]}
  kt = Transpose(k4) {transpose_axes=[0, 2, 3, 1]}
  v4 = Reshape(fv) {new_shape=[1, 8, 2, 8]}
  vt = Transpose(v4) {transpose_axes=[0, 2, 1, 3]}
  s = MatMul(qt, kt)
  p = Softmax(s) {axis=3}
  a = MatMul(p, vt)
  at = Transpose(a) {transpose_axes=[0, 2, 1, 3]}
  o = Reshape(at) {new_shape=[1, 8, 16]}
  wo = InputConstant float32[16x16] random(7)
  y1 = MatMul(o, wo)
  y = Output(y1)
)";

// A gated pair: the product of two paths goes into the down projection.
constexpr char kGated[] = R"(
  x = Input float32[1x8x16]
  wg = InputConstant float32[16x24] random(3)
  gate = MatMul(x, wg)
  act = Sigmoid(gate)
  wu = InputConstant float32[16x24] random(4)
  up = MatMul(x, wu)
  z = Multiply(act, up)
  wd = InputConstant float32[24x16] random(12)
  d = MatMul(z, wd)
  y = Output(d)
)";

// Multiplies some entries of a constant, so that channels differ a lot.
void PlantOutliers(Graph& graph, const std::string& name, int64_t period, float factor) {
  Node* old = graph.FindNode(name);
  Tensor planted = Tensor::Allocate(old->type());
  for (int64_t i = 0; i < planted.elements(); ++i) {
    planted.mutable_data<float>()[i] =
        old->constant().data<float>()[i] * (i % period == 3 ? factor : 1.0f);
  }
  Node* added = graph.AddConstant(name + "/planted", planted);
  graph.ReplaceUses(old, added);
}

double RelativeChange(const Graph& a, const Graph& b, const Dataset& data) {
  double most = 0.0, size = 0.0;
  for (int64_t i = 0; i < data.size(); ++i) {
    const Tensor before = (*RunOnce(a, *data.Load(i)))[0];
    const Tensor after = (*RunOnce(b, *data.Load(i)))[0];
    for (int64_t k = 0; k < before.elements(); ++k) {
      const double value = before.data<float>()[k];
      most = std::max(most, std::abs(value - static_cast<double>(after.data<float>()[k])));
      size = std::max(size, std::abs(value));
    }
  }
  return most / size;
}

// With one step for all channels of a value: steps by channel hand outliers to the weights as well.
absl::StatusOr<QuantizedModel> QuantizeWithOneStep(const Graph& graph, const Dataset& data) {
  NullProgressSink sink;
  absl::StatusOr<CalibrationTable> table = CalibrateFor(graph, data, {}, sink, CancelToken());
  QB_RETURN_IF_ERROR(table.status());
  table->channels.clear();
  return QuantizeCalibrated({graph, *table, data}, {}, sink, CancelToken());
}

double SqnrOf(const Graph& graph, const Graph& reference, const Dataset& data) {
  const absl::StatusOr<QuantizedModel> model = QuantizeWithOneStep(graph, data);
  QB_EXPECT_OK(model);
  return model.ok() ? Measure(reference, model->network, data).sqnr_db : -100.0;
}

std::vector<std::string> KindsOf(const std::vector<Transformed>& done) {
  std::vector<std::string> kinds;
  for (const Transformed& entry : done) {
    kinds.push_back(entry.kind);
    EXPECT_LT(entry.noise_share, 1.0);
  }
  return kinds;
}

// Applies `options`; the float model stays, the quantized one gains.
std::vector<Transformed> ApplyAndCheck(Graph& graph, const EquivalentOptions& options,
                                       double least_gain_db) {
  const auto data = MakeRandomDataset(InputsOf(graph), 12, 5);
  const Graph before = graph.Clone();
  const absl::StatusOr<std::vector<Transformed>> done =
      ApplyEquivalentTransformation(graph, *data, options, CancelToken());
  QB_EXPECT_OK(done);
  EXPECT_LT(RelativeChange(before, graph, *data), 1e-5);
  EXPECT_GT(SqnrOf(graph, before, *data), SqnrOf(before, before, *data) + least_gain_db);
  return done.ok() ? *done : std::vector<Transformed>();
}

Graph Parsed(const char* text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  QB_CHECK_MSG(graph.ok(), graph.status().ToString());
  return *std::move(graph);
}

TEST(EquivalentTransformation, NormalizationsHandOutliersToTheWeights) {
  Graph graph = Parsed(kBlock);
  PlantOutliers(graph, "g", 16, 60.0f);
  PlantOutliers(graph, "g2", 16, 60.0f);
  EquivalentOptions options;
  options.norm_conv = true;
  const std::vector<std::string> kinds = KindsOf(ApplyAndCheck(graph, options, 1.0));
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "NormConv"), 2);
}

TEST(EquivalentTransformation, ValueAndOutputShareOutliers) {
  Graph graph = Parsed(kBlock);
  PlantOutliers(graph, "wv", 16, 80.0f);
  EquivalentOptions options;
  options.vo = true;
  EXPECT_EQ(KindsOf(ApplyAndCheck(graph, options, 1.0)), std::vector<std::string>{"VO"});
}

TEST(EquivalentTransformation, QueryAndKeyAreBalanced) {
  Graph graph = Parsed(kBlock);
  PlantOutliers(graph, "wq", 16, 30.0f);
  EquivalentOptions options;
  options.qk = true;
  EXPECT_EQ(KindsOf(ApplyAndCheck(graph, options, -0.3)), std::vector<std::string>{"QK"});
}

TEST(EquivalentTransformation, UpAndDownShareOutliersThroughRelu) {
  Graph graph = Parsed(kBlock);
  PlantOutliers(graph, "wu", 24, 80.0f);
  EquivalentOptions options;
  options.ud = true;
  const std::vector<std::string> kinds = KindsOf(ApplyAndCheck(graph, options, 0.2));
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "UD"), 1);
}

TEST(EquivalentTransformation, AFusedProjectionIsScaledSliceBySlice) {
  Graph graph = Parsed(kFused);
  PlantOutliers(graph, "w", 48, 20.0f);   // a query channel
  PlantOutliers(graph, "wo", 16, 0.01f);  // outputs only
  EquivalentOptions options;
  options.qk = options.vo = true;
  const auto data = MakeRandomDataset(InputsOf(graph), 12, 5);
  const Graph before = graph.Clone();
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Transformed> done,
                          ApplyEquivalentTransformation(graph, *data, options, CancelToken()));
  EXPECT_FALSE(done.empty());
  EXPECT_LT(RelativeChange(before, graph, *data), 1e-5);
}

TEST(EquivalentTransformation, TheLinearPathOfAGateTakesTheNumbers) {
  Graph graph = Parsed(kGated);
  PlantOutliers(graph, "wu", 24, 60.0f);
  EquivalentOptions options;
  options.ud = true;
  EXPECT_EQ(KindsOf(ApplyAndCheck(graph, options, -0.3)), std::vector<std::string>{"UD"});
}

TEST(EquivalentTransformation, AValueWithOtherReadersStays) {
  // The normalized value is added to the result: nothing can be divided.
  Graph graph = Parsed(R"(
    x = Input float32[1x8x16]
    g = InputConstant float32[16] random(1)
    h = InputConstant float32[16] random(2)
    n = LayerNormalization(x, g, h) {axis=2}
    w = InputConstant float32[16x16] random(3)
    m = MatMul(n, w)
    s = Sigmoid(m)
    r = Adding(s, n)
    y = Output(r))");
  PlantOutliers(graph, "g", 16, 60.0f);
  const std::string text = GraphToText(graph);
  const auto data = MakeRandomDataset(InputsOf(graph), 4, 5);
  EquivalentOptions options;
  options.norm_conv = options.qk = options.ud = options.vo = true;
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Transformed> done,
                          ApplyEquivalentTransformation(graph, *data, options, CancelToken()));
  EXPECT_THAT(done, IsEmpty());
  EXPECT_EQ(GraphToText(graph), text);
}

TEST(EquivalentTransformation, OrderOfSamplesAndThreadsChangeNothing) {
  Graph one = Parsed(kBlock);
  PlantOutliers(one, "g", 16, 60.0f);
  Graph other = one.Clone();
  const auto data = MakeRandomDataset(InputsOf(one), 12, 5);
  std::vector<std::vector<Tensor>> samples = testing::SamplesOf(*data);
  std::reverse(samples.begin(), samples.end());
  EquivalentOptions options;
  options.norm_conv = options.qk = options.ud = options.vo = true;
  QB_ASSERT_OK(ApplyEquivalentTransformation(one, *data, options, CancelToken()));
  options.threads = 3;
  QB_ASSERT_OK(ApplyEquivalentTransformation(other, testing::MemoryDataset(std::move(samples)),
                                             options, CancelToken()));
  EXPECT_EQ(GraphToText(one), GraphToText(other));
}

}  // namespace
}  // namespace qb

#include "core/evaluate/layer_evaluation.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/evaluate/codes.h"
#include "core/npu/border.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::InputsOf;
using testing::ParseGraph;

constexpr char kBody[] = R"(
  x = Input float32[1x8x8x4]
  w = InputConstant float32[8x3x3x4] random(7)
  c = Convolution(x, w) {h_kernel=3, w_kernel=3, channel_last=true, activation="relu"}
  s = Sigmoid(c)
  u = Multiply(c, s)
  g = GlobalAveragePooling(u) {channel_last=true}
  r = Reshape(g) {new_shape=[1, 8]}
  f = InputConstant float32[8x5] random(10)
  m = MatMul(r, f)
  y = Output(m)
)";

class LayerEvaluationTest : public ::testing::Test {
 protected:
  LayerEvaluationTest()
      : graph_(*ParseGraph(kBody)), data_(MakeRandomDataset(InputsOf(graph_), 6, 5)) {}

  integer::Network Quantized(const LayerOverrides& overrides = {}) const {
    QuantizationOptions options;
    options.overrides = overrides;
    options.bias_correction.apply = false;
    absl::StatusOr<QuantizedModel> model = testing::QuantizeGraph(graph_, *data_, options);
    QB_EXPECT_OK(model);
    return std::move(model->network);
  }
  absl::StatusOr<std::vector<LayerMetrics>> Evaluate(const integer::Network& network,
                                                     int threads = 1) const {
    NullProgressSink sink;
    return EvaluateLayers({graph_, network}, *data_, {.threads = threads}, sink, CancelToken());
  }
  static const LayerMetrics& Row(const std::vector<LayerMetrics>& rows, const std::string& name) {
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const LayerMetrics& row) { return row.name == name; });
    EXPECT_NE(found, rows.end()) << name;
    return *found;
  }

  Graph graph_;
  std::unique_ptr<Dataset> data_;
};

TEST_F(LayerEvaluationTest, JudgesEveryValueInOrder) {
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<LayerMetrics> rows, Evaluate(Quantized()));
  std::string names;
  for (const LayerMetrics& row : rows) {
    names += row.name + " ";
    EXPECT_GT(row.sqnr_db, 25.0) << row.name;
    EXPECT_GT(row.cosine, 0.99) << row.name;
    // What came before can only make it worse, up to luck.
    EXPECT_LT(row.entire_sqnr_db, row.sqnr_db + 1.0) << row.name;
  }
  EXPECT_EQ(names, "x c u g r m ");  // s is the inside of a table
  EXPECT_EQ(rows.front().sqnr_db, rows.front().entire_sqnr_db);
}

TEST_F(LayerEvaluationTest, TheLastEntireFigureIsThatOfTheModel) {
  const integer::Network network = Quantized();
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<LayerMetrics> rows, Evaluate(network));
  EXPECT_NEAR(rows.back().entire_sqnr_db, testing::Measure(graph_, network, *data_).sqnr_db, 1e-9);
}

TEST_F(LayerEvaluationTest, FindsTheLayerThatLosesMost) {
  LayerOverrides overrides;
  overrides.weight4 = {"c"};
  const integer::Network network = Quantized(overrides);
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<LayerMetrics> rows, Evaluate(network));
  for (const LayerMetrics& row : rows) {
    EXPECT_TRUE(row.name == "c" || row.sqnr_db > Row(rows, "c").sqnr_db + 6.0) << row.name;
  }
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<LayerMetrics> plain, Evaluate(Quantized()));
  // Others see float operands: a bad neighbour does not show.
  EXPECT_NEAR(Row(rows, "m").sqnr_db, Row(plain, "m").sqnr_db, 1e-9);
  EXPECT_LT(Row(rows, "m").entire_sqnr_db, Row(plain, "m").entire_sqnr_db - 3.0);
}

TEST_F(LayerEvaluationTest, SixteenBitsShow) {
  LayerOverrides overrides;
  overrides.activation16 = {"c"};
  overrides.weight16 = {"c"};
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<LayerMetrics> rows, Evaluate(Quantized(overrides)));
  EXPECT_EQ(Row(rows, "c").activation_bits, 16);
  EXPECT_GT(Row(rows, "c").sqnr_db, 70.0);
  EXPECT_GT(Row(rows, "u").sqnr_db, 25.0);  // a table, on the rescaled 8 bits
  EXPECT_LT(Row(rows, "u").sqnr_db, 60.0);
}

TEST_F(LayerEvaluationTest, DoesNotDependOnThreadsOrBorder) {
  const integer::Network network = Quantized();
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<LayerMetrics> one, Evaluate(network));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<LayerMetrics> two, Evaluate(network, 3));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<LayerMetrics> codes,
                          Evaluate(npu::WithIntegerBorder(network)));
  ASSERT_EQ(codes.size(), one.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].ToJson().Dump(), two[i].ToJson().Dump());
    EXPECT_EQ(one[i].ToJson().Dump(), codes[i].ToJson().Dump());
  }
}

TEST_F(LayerEvaluationTest, RefusesAnotherModel) {
  integer::Network network = Quantized();
  NullProgressSink sink;
  const Graph other = *ParseGraph("x = Input float32[1x8x8x4]\nm = Relu(x)\ny = Output(m)");
  const absl::Status status =
      EvaluateLayers({other, network}, *data_, {}, sink, CancelToken()).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kArgumentError);
  EXPECT_THAT(std::string(status.message()), HasSubstr("made from another model"));
}

TEST(Codes, RoundHalfToEvenAndSaturate) {
  integer::TensorInfo info;
  info.shape = Shape{5};
  info.scale = 0.5f;
  info.zero_point = 1;
  const Tensor real = Tensor::OfFloats({5}, {0.25f, 0.75f, -1.0f, 100.0f, -100.0f});
  const Tensor codes = QuantizeTensor(real, info);
  const absl::Span<const int8_t> values = codes.values<int8_t>();
  EXPECT_THAT(std::vector<int>(values.begin(), values.end()),
              ::testing::ElementsAre(1, 3, -1, 127, -128));
  EXPECT_THAT(DequantizeTensor(codes, info).values<float>(),
              ::testing::ElementsAre(0.0f, 1.0f, -1.0f, 63.0f, -64.5f));
}

}  // namespace
}  // namespace qb

#include "core/quantization/output_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/testing/status_matchers.h"
#include "core/calibration/testing/memory_dataset.h"
#include "core/integer/validate.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

using testing::InputsOf;
using testing::ParseGraph;
using testing::QuantizeGraph;
using testing::RunInteger;

// A graph, its network, and how the two compare.
class Quantized {
 public:
  Quantized(const std::string& body, OutputSteps steps,
            QuantizationMethod method = QuantizationMethod::kSharedScales) {
    absl::StatusOr<Graph> graph = ParseGraph(body);
    EXPECT_THAT(graph, testing::IsOk());
    graph_ = *std::move(graph);
    set_ = MakeRandomDataset(InputsOf(graph_), 16, 5);
    QuantizationOptions options;
    options.outputs = steps;
    options.method = method;
    options.calibration.mode = CalibrationMode::kMax;
    absl::StatusOr<QuantizedModel> model = QuantizeGraph(graph_, *set_, options);
    EXPECT_THAT(model, testing::IsOk());
    network_ = std::move(model->network);
    EXPECT_THAT(integer::ValidateNetwork(network_), testing::IsOk());
  }

  const integer::TensorInfo& tensor(const std::string& name) const {
    const auto found = std::find_if(network_.tensors.begin(), network_.tensors.end(),
                                    [&](const auto& tensor) { return tensor.name == name; });
    EXPECT_NE(found, network_.tensors.end()) << name;
    return *found;
  }
  bool HasLayer(const std::string& name) const {
    return std::any_of(network_.layers.begin(), network_.layers.end(),
                       [&](const integer::Layer& layer) { return layer.name == name; });
  }

  // SQNR of each index of the first output's axis `axis`, over all samples.
  std::vector<double> SqnrAlong(int64_t axis) const {
    const Shape& shape = graph_.outputs()[0]->operand(0)->shape();
    std::vector<double> signal(static_cast<size_t>(shape[axis])), noise(signal.size());
    int64_t run = 1;
    for (int64_t i = axis + 1; i < shape.rank(); ++i) {
      run *= shape[i];
    }
    for (int64_t sample = 0; sample < set_->size(); ++sample) {
      const std::vector<Tensor> inputs = *set_->Load(sample);
      const std::vector<Tensor> want = *RunOnce(graph_, inputs);
      const std::vector<Tensor> got = RunInteger(network_, inputs);
      for (int64_t i = 0; i < want[0].elements(); ++i) {
        const size_t at = static_cast<size_t>(i / run % shape[axis]);
        const double expected = want[0].data<float>()[i];
        signal[at] += expected * expected;
        noise[at] += std::pow(got[0].data<float>()[i] - expected, 2);
      }
    }
    std::vector<double> sqnr;
    for (size_t i = 0; i < signal.size(); ++i) {
      sqnr.push_back(10 * std::log10(signal[i] / std::max(noise[i], 1e-300)));
    }
    return sqnr;
  }

 private:
  Graph graph_;
  std::unique_ptr<Dataset> set_;
  integer::Network network_;
};

double LeastOf(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// The head of a detector: boxes in pixels, scores between 0 and 1, one output [1, places, 4 + 3].
constexpr char kHead[] = R"(
  x = Input float32[1x8x8x4]
  wb = InputConstant float32[4x1x1x4] random(7)
  ws = InputConstant float32[3x1x1x4] random(8)
  pixels = InputConstant float32[scalar] [320.0]
  b = Convolution(x, wb) {channel_last=true}
  box = Multiply(b, pixels)
  s = Convolution(x, ws) {channel_last=true}
  score = Sigmoid(s)
  c = Concatenate(box, score) {axis=3}
  r = Reshape(c) {new_shape=[1, 64, 7]}
  y = Output(r))";

// The failure of detectors in which one scale serves 0 to 640 and 0 to 1: every score becomes 0.
TEST(OutputSteps, NeverShareAScaleBetweenBoxesAndScores) {
  for (const OutputSteps steps : {OutputSteps::kOneScale, OutputSteps::kByChannel}) {
    const Quantized model(kHead, steps);
    EXPECT_GT(LeastOf(model.SqnrAlong(2)), 30.0) << static_cast<int>(steps);
    const integer::TensorInfo& output = model.tensor("r");
    EXPECT_THAT(output.channel_factors, SizeIs(7));
    EXPECT_EQ(output.channel_axis, 2);
    EXPECT_THAT(output.channel_zero_points, ::testing::ElementsAre(0, 0, 0, 0, -128, -128, -128));
    // Scores have all codes from 0 to what the samples reach, each class the same.
    EXPECT_EQ(output.channel_factors[4], output.channel_factors[6]);
    EXPECT_LT(output.scale * output.channel_factors[4], 1.0f / 254);
  }
}

TEST(OutputSteps, ShareOneScaleWherePartsAreClose) {
  const std::string body = R"(
    x = Input float32[1x8x8x4]
    wa = InputConstant float32[4x1x1x4] random(7)
    wb = InputConstant float32[4x1x1x4] random(8)
    a = Convolution(x, wa) {channel_last=true}
    b = Convolution(x, wb) {channel_last=true}
    c = Concatenate(a, b) {axis=3}
    y = Output(c))";
  const Quantized shared(body, OutputSteps::kOneScale);
  EXPECT_THAT(shared.tensor("c").channel_factors, IsEmpty());
  EXPECT_EQ(shared.tensor("a").scale, shared.tensor("b").scale);
  const Quantized apart(body, OutputSteps::kOneScale, QuantizationMethod::kSeparateScales);
  EXPECT_NE(apart.tensor("a").scale, apart.tensor("b").scale);
  EXPECT_THAT(apart.tensor("c").channel_factors, SizeIs(8));
}

// Channels of `c` reach from 10 to 0.7 of it; the output has them second.
constexpr char kUneven[] = R"(
  x = Input float32[1x8x8x4]
  w = InputConstant float32[4x1x1x1] [10.0, 1.0, 3.0, 0.7]
  c = Convolution(x, w) {group_number=4, channel_last=true}
  t = Transpose(c) {transpose_axes=[0, 3, 1, 2]}
  y = Output(t))";

TEST(OutputSteps, GiveEachChannelItsOwn) {
  const Quantized one(kUneven, OutputSteps::kOneScale);
  EXPECT_THAT(one.tensor("t").channel_factors, IsEmpty());
  EXPECT_LT(LeastOf(one.SqnrAlong(1)), 28.0);
  const Quantized each(kUneven, OutputSteps::kByChannel);
  EXPECT_EQ(each.tensor("t").channel_axis, 1);
  EXPECT_THAT(each.tensor("t").channel_factors,
              ::testing::Pointwise(::testing::FloatNear(0.01f), {1.0f, 0.1f, 0.3f, 0.07f}));
  EXPECT_GT(LeastOf(each.SqnrAlong(1)), 40.0);
}

TEST(OutputSteps, HoldWithZeroPointsToo) {
  for (const auto method :
       {QuantizationMethod::kSeparateZeroPoints, QuantizationMethod::kSharedZeroPoints}) {
    EXPECT_GT(LeastOf(Quantized(kUneven, OutputSteps::kByChannel, method).SqnrAlong(1)), 40.0);
    EXPECT_GT(LeastOf(Quantized(kHead, OutputSteps::kByChannel, method).SqnrAlong(2)), 30.0);
  }
}

// Channels of two anchors become places of their own, and two levels come together: the same
// channel of all has one step.
TEST(OutputSteps, FollowAnchorsAndLevels) {
  const Quantized model(R"(
    x = Input float32[1x8x8x4]
    z = Input float32[1x4x4x4]
    w = InputConstant float32[6x1x1x4] [1, 0, 0, 0, 0, 9, 0, 0, 0, 0, 30, 0, 2, 0, 0, 0, 0, 9, 0, 0, 0, 0, 20, 0]
    v = InputConstant float32[6x1x1x4] [1, 0, 0, 0, 0, 8, 0, 0, 0, 0, 30, 0, 1, 0, 0, 0, 0, 7, 0, 0, 0, 0, 25, 0]
    c = Convolution(x, w) {channel_last=true}
    d = Convolution(z, v) {channel_last=true}
    a = Reshape(c) {new_shape=[1, 128, 3]}
    b = Reshape(d) {new_shape=[1, 32, 3]}
    j = Concatenate(a, b) {axis=1}
    t = Transpose(j) {transpose_axes=[0, 2, 1]}
    y = Output(t))",
                        OutputSteps::kByChannel);
  const std::vector<float>& factors = model.tensor("c").channel_factors;
  ASSERT_THAT(factors, SizeIs(6));
  EXPECT_EQ(factors[0], factors[3]);
  EXPECT_EQ(factors, model.tensor("d").channel_factors);
  EXPECT_EQ(model.tensor("c").scale, model.tensor("d").scale);
  EXPECT_EQ(model.tensor("t").channel_axis, 1);
  EXPECT_THAT(model.tensor("t").channel_factors, SizeIs(3));
  EXPECT_GT(LeastOf(model.SqnrAlong(1)), 34.0);
}

// What something else reads as well keeps the scale that it has there.
TEST(OutputSteps, LeaveInnerValuesAlone) {
  const Quantized model(R"(
    x = Input float32[1x4x4x4]
    w = InputConstant float32[4x1x1x4] random(7)
    k = InputConstant float32[scalar] [100.0]
    c = Convolution(x, w) {channel_last=true}
    m = Multiply(c, c)
    p = Pooling(m) {h_kernel=2, w_kernel=2, channel_last=true, south_padding=1, east_padding=1}
    big = Convolution(p, w) {channel_last=true}
    n = Multiply(big, k)
    s = Softmax(big) {axis=3}
    j = Concatenate(c, n, s, p) {axis=3}
    y = Output(j))",
                        OutputSteps::kByChannel);
  EXPECT_EQ(model.tensor("s").scale, 1.0f / 256);
  EXPECT_THAT(model.tensor("c").channel_factors, IsEmpty());
  EXPECT_THAT(model.tensor("j").channel_factors, SizeIs(16));
  EXPECT_GT(LeastOf(model.SqnrAlong(3)), 22.0);
}

TEST(OutputSteps, KeepToTheRangeOfASigmoid) {
  const std::string body = R"(
    x = Input float32[1x4x4x4]
    w = InputConstant float32[3x1x1x4] [30, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0.01, 0]
    c = Convolution(x, w) {channel_last=true}
    )";
  const Quantized scores(absl::StrCat(body, "s = Sigmoid(c)\n y = Output(s)"),
                         OutputSteps::kSigmoidRange);
  EXPECT_EQ(scores.tensor("s").scale, 1.0f / 256);
  EXPECT_EQ(scores.tensor("s").zero_point, -128);
  EXPECT_EQ(scores.tensor("c").scale, 8.0f / 32767);
  EXPECT_GT(LeastOf(scores.SqnrAlong(3)), 35.0);
  const Quantized logits(absl::StrCat(body, "y = Output(c)"), OutputSteps::kSigmoidRange);
  EXPECT_EQ(logits.tensor("c").scale, 8.0f / 127);
}

}  // namespace
}  // namespace qb

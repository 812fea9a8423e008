#include "core/tuning/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/testing/status_matchers.h"
#include "core/evaluate/codes.h"
#include "core/evaluate/metrics.h"
#include "core/execute/executor.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using testing::InputsOf;
using testing::ParseGraph;
using testing::QuantizeGraph;

constexpr char kNetwork[] = R"(
  x = Input float32[1x6x6x4]
  w = InputConstant float32[8x3x3x4] random(7)
  b = InputConstant float32[8] random(8)
  c = Convolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, channel_last=true, activation="relu"}
  v = InputConstant float32[8x1x1x8] random(9)
  e = Convolution(c, v) {channel_last=true}
  a = Adding(e, c)
  y = Output(a)
)";

class SensitivityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    QB_ASSERT_OK_AND_ASSIGN(graph_, ParseGraph(kNetwork));
    data_ = MakeRandomDataset(InputsOf(graph_), 4, 5);
    QuantizationOptions options;
    options.bias_correction.apply = false;
    QB_ASSERT_OK_AND_ASSIGN(model_, QuantizeGraph(graph_, *data_, options));
  }

  Sensitivities MeasureOn(int threads) {
    const absl::StatusOr<QuantizationPlan> plan =
        QuantizationPlan::Create(graph_, QuantizationMethod::kSharedScales);
    QB_EXPECT_OK(plan);
    SensitivityOptions options;
    options.threads = threads;
    NullProgressSink sink;
    absl::StatusOr<Sensitivities> result = MeasureSensitivities(
        {*plan, model_.network, CalibrationTable(), *data_}, options, sink, CancelToken());
    QB_EXPECT_OK(result);
    return result.ok() ? *std::move(result) : Sensitivities();
  }

  // Noise / signal of the output when `changed` runs in the place of the samples.
  double LossOfInputs(const integer::TensorInfo& codes) {
    double signal = 0, noise = 0;
    for (int64_t i = 0; i < data_->size(); ++i) {
      const std::vector<Tensor> inputs = *data_->Load(i);
      const Tensor rounded = DequantizeTensor(QuantizeTensor(inputs[0], codes), codes);
      const OutputSums sums =
          CompareOutputs((*RunOnce(graph_, inputs))[0], (*RunOnce(graph_, {{rounded}}))[0]);
      signal += sums.signal;
      noise += sums.noise;
    }
    return noise / signal;
  }

  Graph graph_;
  std::unique_ptr<Dataset> data_;
  QuantizedModel model_;
};

TEST_F(SensitivityTest, AnInputCostsWhatRunningTheModelOnRoundedInputsCosts) {
  const Sensitivities result = MeasureOn(1);
  for (const integer::TensorInfo& tensor : model_.network.tensors) {
    if (tensor.name == "x/codes") {
      const double loss = LossOfInputs(tensor);
      EXPECT_GT(loss, 0.0);
      EXPECT_NEAR(result.values.at(graph_.FindNode("x")->id()), loss, 1e-6 * loss);
      return;
    }
  }
  FAIL() << "no codes of the input";
}

TEST_F(SensitivityTest, WeightsCostWhatTheirCodesDo) {
  // The same model with the weights that the codes of `e` stand for.
  std::string values;
  for (const integer::Layer& layer : model_.network.layers) {
    if (layer.name == "e") {
      const auto& conv = std::get<integer::ConvParams>(layer.params);
      Graph coded = graph_.Clone();
      Tensor weights = Tensor::Allocate({DType::kFloat32, Shape{8, 1, 1, 8}});
      for (int64_t i = 0; i < weights.elements(); ++i) {
        weights.mutable_data<float>()[i] =
            conv.weight_scales[static_cast<size_t>(i / 8)] * static_cast<float>(conv.weight(i));
      }
      coded.ReplaceOperand(coded.FindNode("e"), 1, coded.AddConstant("coded", weights));
      double signal = 0, noise = 0;
      for (int64_t i = 0; i < data_->size(); ++i) {
        const std::vector<Tensor> inputs = *data_->Load(i);
        const OutputSums sums =
            CompareOutputs((*RunOnce(graph_, inputs))[0], (*RunOnce(coded, inputs))[0]);
        signal += sums.signal;
        noise += sums.noise;
      }
      EXPECT_NEAR(MeasureOn(1).weights.at(graph_.FindNode("e")->id()), noise / signal,
                  1e-3 * noise / signal);
      return;
    }
  }
  FAIL() << "no layer e";
}

TEST_F(SensitivityTest, ThreadsChangeNothing) {
  const Sensitivities one = MeasureOn(1);
  const Sensitivities three = MeasureOn(3);
  EXPECT_EQ(one.values, three.values);
  EXPECT_EQ(one.weights, three.weights);
  EXPECT_EQ(one.values.size(), 3u);   // x, c, a; e has 16 bits as the term of a sum
  EXPECT_EQ(one.weights.size(), 2u);  // c, e
}

}  // namespace
}  // namespace qb

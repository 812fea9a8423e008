#include "core/quantization/weight_refinement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/testing/status_matchers.h"
#include "core/calibration/testing/memory_dataset.h"
#include "core/integer/validate.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::InputsOf;
using testing::Measure;
using testing::ParseGraph;
using testing::QuantizeGraph;

// Convolutions of three kinds and a matrix product.
constexpr char kNetwork[] = R"(
  x = Input float32[1x10x10x6]
  s = InputConstant float32[8x5x5x6] random(4)
  c = Convolution(x, s) {h_kernel=5, w_kernel=5, north_padding=2, south_padding=2, west_padding=2, east_padding=2, channel_last=true, activation="relu"}
  d = InputConstant float32[8x3x3x1] random(9)
  e = Convolution(c, d) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, group_number=8, channel_last=true, activation="relu"}
  k = InputConstant float32[12x3x3x4] random(12)
  g = Convolution(e, k) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, group_number=2, channel_last=true, activation="relu"}
  r = Reshape(g) {new_shape=[100, 12]}
  f = InputConstant float32[12x5] random(10)
  m = MatMul(r, f)
  y = Output(m)
)";

// Samples whose neighbours are alike, as those of pictures are: taps meet correlated values.
std::vector<std::vector<Tensor>> Waves(const TensorType& type) {
  std::vector<std::vector<Tensor>> samples;
  const int64_t columns = type.shape[2], channels = type.shape[3];
  for (int sample = 0; sample < 8; ++sample) {
    Tensor tensor = Tensor::Allocate(type);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const auto c = static_cast<double>(i % channels);
      const auto x = static_cast<double>(i / channels % columns);
      const auto y = static_cast<double>(i / channels / columns);
      tensor.mutable_data<float>()[i] = static_cast<float>(
          std::sin(0.3 * x + 0.2 * sample * y) + 0.5 * std::cos(0.4 * y - 0.1 * c + sample));
    }
    samples.push_back({tensor});
  }
  return samples;
}

class WeightRefinementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    QB_ASSERT_OK_AND_ASSIGN(graph_, ParseGraph(kNetwork));
    data_ = std::make_unique<testing::MemoryDataset>(Waves(graph_.inputs()[0]->type()));
    options_.overrides.weight4 = {"*"};
  }

  QuantizedModel QuantizeOn(const Dataset& data) {
    absl::StatusOr<QuantizedModel> model = QuantizeGraph(graph_, data, options_);
    QB_EXPECT_OK(model);
    return model.ok() ? *std::move(model) : QuantizedModel();
  }
  double Sqnr() {
    const QuantizedModel model = QuantizeOn(*data_);
    QB_EXPECT_OK(integer::ValidateNetwork(model.network));
    return Measure(graph_, model.network, *data_).sqnr_db;
  }

  Graph graph_;
  std::unique_ptr<Dataset> data_;
  QuantizationOptions options_;
};

std::vector<int8_t> AllCodes(const integer::Network& network) {
  std::vector<int8_t> codes;
  for (const integer::Layer& layer : network.layers) {
    if (const auto* conv = std::get_if<integer::ConvParams>(&layer.params)) {
      codes.insert(codes.end(), conv->weights.begin(), conv->weights.end());
    }
  }
  return codes;
}

TEST_F(WeightRefinementTest, SecondOrderRoundingSavesFourBitWeights) {
  const double nearest = Sqnr();
  options_.refinement.hessian = true;
  for (const HessianSolver solver : {HessianSolver::kSymmetric, HessianSolver::kAsymmetricCausal,
                                     HessianSolver::kAsymmetricRefit}) {
    options_.refinement.solver.solver = solver;
    EXPECT_GT(Sqnr(), nearest + 2.0) << static_cast<int>(solver);
  }
  options_.refinement.solver.rescomp = true;
  options_.refinement.half_moments = true;
  options_.refinement.solver.act_order = false;
  EXPECT_GT(Sqnr(), nearest + 2.0);
}

TEST_F(WeightRefinementTest, ASearchedScaleIsBetterThanTheWeightsOwn) {
  const double nearest = Sqnr();
  options_.refinement.scale_layers = {"*"};
  EXPECT_GT(Sqnr(), nearest + 0.1);
  for (const LayerReport& layer : QuantizeOn(*data_).layers) {
    if (layer.weight_bits > 0) {
      EXPECT_LE(layer.refined_error_share, 1.0) << layer.name;
    }
  }
}

TEST_F(WeightRefinementTest, OnlyNamedLayersGetASearchedScale) {
  const QuantizedModel before = QuantizeOn(*data_);
  options_.refinement.scale_layers = {"e"};
  const QuantizedModel after = QuantizeOn(*data_);
  for (size_t i = 0; i < before.network.layers.size(); ++i) {
    const auto* was = std::get_if<integer::ConvParams>(&before.network.layers[i].params);
    if (was == nullptr) {
      continue;
    }
    const auto& now = std::get<integer::ConvParams>(after.network.layers[i].params);
    EXPECT_EQ(was->weights == now.weights, before.network.layers[i].name != "e")
        << before.network.layers[i].name;
  }
}

TEST_F(WeightRefinementTest, OrderOfSamplesAndThreadsChangeNothing) {
  options_.refinement.hessian = true;
  options_.refinement.solver.solver = HessianSolver::kAsymmetricCausal;
  const std::vector<int8_t> want = AllCodes(QuantizeOn(*data_).network);
  std::vector<std::vector<Tensor>> samples = testing::SamplesOf(*data_);
  std::reverse(samples.begin(), samples.end());
  options_.calibration.threads = 3;
  EXPECT_EQ(AllCodes(QuantizeOn(testing::MemoryDataset(std::move(samples))).network), want);
}

TEST_F(WeightRefinementTest, ALayerWithoutAnyInputKeepsItsWeights) {
  options_.refinement.hessian = true;
  std::vector<std::vector<Tensor>> zero = {{Tensor::Allocate(graph_.inputs()[0]->type())}};
  const QuantizedModel model = QuantizeOn(testing::MemoryDataset(std::move(zero)));
  EXPECT_THAT(model.layers[1].note, HasSubstr("zero in every sample"));
  EXPECT_EQ(model.layers[1].refined_error_share, 1.0);
}

// A dead channel, one of denormal weights, and a bias that only a large scale can hold.
TEST(WeightRefinement, OddChannelsStaySafe) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(R"(
    x = Input float32[1x4x4x4]
    w = InputConstant float32[4x1x1x4] [0.0, 0.0, 0.0, 0.0, 1e-41, 1e-41, 0.0, 1e-41, 0.5, -1.0, 0.25, 0.1, 0.0001, 0.0, 0.0, 0.0]
    b = InputConstant float32[4] [1.0, 2.0, 3.0, 500000.0]
    c = Convolution(x, w, b) {channel_last=true}
    y = Output(c))"));
  const auto data = MakeRandomDataset(InputsOf(graph), 4, 5);
  for (const bool hessian : {true, false}) {
    QuantizationOptions options;
    options.overrides.weight4 = {"c"};
    options.refinement.hessian = hessian;
    options.refinement.scale_layers = {"c"};
    QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel model, QuantizeGraph(graph, *data, options));
    QB_EXPECT_OK(integer::ValidateNetwork(model.network));
    for (int64_t i = 0; i < data->size(); ++i) {
      const Tensor got = testing::RunInteger(model.network, *data->Load(i))[0];
      for (int64_t k = 0; k < got.elements(); ++k) {
        const float want[] = {1.0f, 2.0f, 3.0f, 500000.0f};
        if (k % 4 == 3) {
          EXPECT_NEAR(got.data<float>()[k], want[3], 5000.0f);
        }
      }
    }
  }
}

}  // namespace
}  // namespace qb

#include "core/quantization/scale_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/calibration/testing/memory_dataset.h"
#include "core/integer/network_digest.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using testing::InputsOf;
using testing::Measure;
using testing::ParseGraph;
using testing::QuantizeGraph;

// A table, a clamp and plain results behind layers with weights.
constexpr char kNetwork[] = R"(
  x = Input float32[1x12x12x6]
  w = InputConstant float32[16x3x3x6] random(7)
  b = InputConstant float32[16] random(8)
  c = Convolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, channel_last=true}
  s = Swish(c)
  d = InputConstant float32[16x3x3x1] random(9)
  e = Convolution(s, d) {h_kernel=3, w_kernel=3, group_number=16, channel_last=true, activation="relu"}
  v = InputConstant float32[8x1x1x16] random(10)
  f = Convolution(e, v) {channel_last=true}
  y = Output(f))";

class ScaleTraining : public ::testing::Test {
 protected:
  ScaleTraining()
      : graph_(*ParseGraph(kNetwork)), set_(MakeRandomDataset(InputsOf(graph_), 12, 5)) {
    options_.overrides.weight4 = {"*"};
  }

  absl::StatusOr<QuantizedModel> Quantized() { return QuantizeGraph(graph_, *set_, options_); }

  Graph graph_;
  std::unique_ptr<Dataset> set_;
  QuantizationOptions options_;
};

TEST_F(ScaleTraining, BringsResultsCloserToTheFloatModel) {
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel plain, Quantized());
  options_.training.apply = true;
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel trained, Quantized());
  EXPECT_GT(Measure(graph_, trained.network, *set_).sqnr_db,
            Measure(graph_, plain.network, *set_).sqnr_db);
  int gained = 0;
  for (const LayerReport& layer : trained.layers) {
    EXPECT_LE(layer.trained_loss_share, 1.0) << layer.name;
    gained += layer.trained_loss_share < 1.0 ? 1 : 0;
  }
  EXPECT_EQ(gained, 3);
}

TEST_F(ScaleTraining, TrainsNamedLayersOnly) {
  options_.training.apply = true;
  options_.training.layers = {"f"};
  options_.training.fit.loss = FitLoss::kCosine;
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel model, Quantized());
  for (const LayerReport& layer : model.layers) {
    EXPECT_EQ(layer.trained_loss_share < 1.0, layer.name == "f") << layer.name;
  }
  options_.training.layers = {"nothing*"};
  const absl::Status refused = Quantized().status();
  EXPECT_EQ(FailureCodeOf(refused), FailureCode::kArgumentError);
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("'nothing*' matches no layer"));
}

TEST_F(ScaleTraining, DependsOnNothingButTheSetOfSamples) {
  options_.training.apply = true;
  options_.training.fit.epochs = 3;
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel one, Quantized());
  options_.calibration.threads = 3;
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel three, Quantized());
  EXPECT_EQ(integer::NetworkDigest(one.network), integer::NetworkDigest(three.network));
}

}  // namespace
}  // namespace qb

#include "core/quantization/layer_overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr char kBody[] = R"(
  x = Input float32[1x8x8x4]
  w = InputConstant float32[8x3x3x4] random(7)
  conv_1 = Convolution(x, w) {h_kernel=3, w_kernel=3, channel_last=true}
  act = Sigmoid(conv_1)
  inner = Tanh(act)
  pool = Pooling(act) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2, channel_last=true}
  edge = Tanh(pool)
  flip = Transpose(pool) {transpose_axes=[0, 2, 1, 3]}
  mean = GlobalAveragePooling(flip) {channel_last=true}
  out = Reshape(mean) {new_shape=[1, 8]}
  soft = Softmax(out) {axis=1}
  y = Output(soft)
  z = Output(inner)
  e = Output(edge))";

class LayerOverridesTest : public ::testing::Test {
 protected:
  LayerOverridesTest() : graph_(*testing::ParseGraph(kBody)), closures_(graph_) {}

  absl::StatusOr<LayerSettings> Resolve() const {
    return ResolveLayerOverrides(graph_, closures_, overrides_);
  }
  std::vector<std::string> Wide() const {
    std::vector<std::string> names;
    const absl::StatusOr<LayerSettings> settings = Resolve();
    QB_EXPECT_OK(settings);
    if (settings.ok()) {
      for (const Node* node : settings->wide) {
        names.push_back(node->name());
      }
    }
    return names;
  }
  void ExpectRefused(const std::string& what) const {
    const absl::Status status = Resolve().status();
    EXPECT_EQ(FailureCodeOf(status), FailureCode::kConfigError);
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }
  const Node* Find(const std::string& name) const {
    for (const Node* node : graph_.TopologicalOrder()) {
      if (node->name() == name) {
        return node;
      }
    }
    return nullptr;
  }

  Graph graph_;
  PointwiseClosures closures_;
  LayerOverrides overrides_;
};

TEST_F(LayerOverridesTest, AGlobTakesTheLayersThatCanAndNotesTheOthers) {
  overrides_.activation16 = {"*"};
  EXPECT_THAT(Wide(), UnorderedElementsAre("x", "conv_1", "act", "inner", "mean", "out", "soft"));
  QB_ASSERT_OK_AND_ASSIGN(const LayerSettings settings, Resolve());
  EXPECT_THAT(settings.notes.at(Find("edge")), HasSubstr("a lookup table of 'pool', which has 8"));
  EXPECT_THAT(settings.notes.at(Find("flip")), HasSubstr("it moves 'pool': maxima"));
  EXPECT_FALSE(settings.notes.contains(Find("conv_1")));
}

TEST_F(LayerOverridesTest, AnExactNameOfALayerThatCannotIsRefused) {
  overrides_.activation16 = {"conv_1", "pool", "edge", "nothing"};
  ExpectRefused(
      "activation16Bits: 'pool' can have no effect: layer 'pool' (Pooling): maxima are taken of 8 "
      "bits");
  ExpectRefused("layer 'edge' (Tanh): it is a lookup table");
  ExpectRefused("'nothing' matches no layer");
}

TEST_F(LayerOverridesTest, WeightsNeedALayerWithWeights) {
  overrides_.weight16 = {"mean"};
  ExpectRefused(
      "weight16Bits: 'mean' can have no effect: layer 'mean' (GlobalAveragePooling): it "
      "has no weights");
  overrides_.weight16 = {"*"};
  QB_ASSERT_OK_AND_ASSIGN(const LayerSettings settings, Resolve());
  EXPECT_EQ(settings.WeightBits(Find("conv_1")), 16);
  EXPECT_EQ(settings.weight_bits.size(), 1u);
}

TEST_F(LayerOverridesTest, AnExactNameWinsOverGlobs) {
  overrides_.weight4 = {"*"};
  overrides_.weight8 = {"conv_1"};
  QB_ASSERT_OK_AND_ASSIGN(const LayerSettings settings, Resolve());
  EXPECT_EQ(settings.WeightBits(Find("conv_1")), 8);
  overrides_.weight8 = {"conv*"};
  ExpectRefused(
      "weight4Bits: layer 'conv_1' matches '*' here and 'conv*' of "
      "bit.layerOverrides.weight8Bits");
}

TEST_F(LayerOverridesTest, AMethodNeedsALayerWithCodesOfItsOwn) {
  overrides_.method = {{"flip", 2}};
  ExpectRefused("calibration.layerOverrides.method: 'flip' can have no effect");
  overrides_.method = {{"soft", 2}};
  ExpectRefused("a softmax has the scale 1/256");
  overrides_.method = {{"conv_1", 2}};
  QB_ASSERT_OK_AND_ASSIGN(const LayerSettings settings, Resolve());
  EXPECT_TRUE(HasZeroPoints(settings.methods.at(Find("conv_1"))));
}

}  // namespace
}  // namespace qb

#include "core/tuning/one_layer_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/base/testing/status_matchers.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using testing::InputsOf;
using testing::ParseGraph;
using testing::QuantizeGraph;

// Between `c` and `d` the codes have steps by channel, which both layers' weights took in.
TEST(OneLayerGraph, WeightsAreThoseOfTheModelWhateverStepsTheyTookIn) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(R"(
    x = Input float32[1x8x8x4]
    u = InputConstant float32[4x1x1x1] [10.0, 1.0, 0.1, 0.01]
    c = Convolution(x, u) {group_number=4, channel_last=true}
    w = InputConstant float32[4x1x1x1] [0.1, 1.0, 10.0, 100.0]
    d = Convolution(c, w) {group_number=4, channel_last=true}
    y = Output(d))"));
  const auto set = MakeRandomDataset(InputsOf(graph), 8, 5);
  QB_ASSERT_OK_AND_ASSIGN(const QuantizedModel model, QuantizeGraph(graph, *set));
  int checked = 0;
  for (const integer::Layer& layer : model.network.layers) {
    const auto* conv = std::get_if<integer::ConvParams>(&layer.params);
    if (conv == nullptr) {
      continue;
    }
    const integer::TensorInfo& input = model.network.tensors[static_cast<size_t>(layer.inputs[0])];
    const integer::TensorInfo& output = model.network.tensors[static_cast<size_t>(layer.output)];
    EXPECT_NE(input.channel_factors.empty(), output.channel_factors.empty()) << layer.name;
    const Node* node = graph.FindNode(layer.name);
    QB_ASSERT_OK_AND_ASSIGN(const LinearForm form, LinearFormOf(*node));
    const Graph coded = GraphWithCodedWeights(*node, form, {*conv, input, output}, nullptr);
    const Tensor& weights = coded.FindNode("weights")->constant();
    for (int64_t i = 0; i < 4; ++i) {
      const float want = form.weights.data<float>()[i];
      EXPECT_NEAR(weights.data<float>()[i], want, 1e-5 * want) << layer.name << " " << i;
    }
    ++checked;
  }
  EXPECT_EQ(checked, 2);
}

}  // namespace
}  // namespace qb

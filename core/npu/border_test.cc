#include "core/npu/border.h"

#include <string>
#include <vector>

#include "core/base/testing/status_matchers.h"
#include "core/integer/testing/random_network.h"
#include "core/integer/validate.h"

namespace qb::npu {
namespace {

using integer::Network;
using integer::testing::NetworkBuilder;
using ::testing::ElementsAre;

std::vector<std::string> Names(const Network& network, const std::vector<int>& tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const int tensor : tensors) {
    names.push_back(network.tensors[static_cast<size_t>(tensor)].name);
  }
  return names;
}

// image (float) -> codes -> sum, and the results that the caller adds.
struct Sample {
  NetworkBuilder b{1};
  int codes = 0, doubled = 0;

  Sample() {
    const int image = b.Input({1, 4}, DType::kFloat32);
    Name(image, "image");
    codes = b.Layer({image}, {1, 4}, integer::QuantizeParams{});
    integer::LutParams table;
    table.table.assign(256, 3);
    doubled = b.Layer({codes}, {1, 4}, std::move(table));
  }
  void Name(int tensor, const char* name) {
    b.network.tensors[static_cast<size_t>(tensor)].name = name;
  }
  void Result(int value, const char* name) {
    const int real = b.Layer({value}, {1, 4}, integer::DequantizeParams{}, DType::kFloat32);
    Name(real, name);
    b.Output(real);
  }
};

TEST(WithIntegerBorder, CodesTakeTheNamesOfTheModel) {
  Sample sample;
  sample.Result(sample.doubled, "scores");
  const Network network = WithIntegerBorder(sample.b.network);
  QB_EXPECT_OK(integer::ValidateNetwork(network));
  EXPECT_THAT(Names(network, network.inputs), ElementsAre("image"));
  EXPECT_THAT(Names(network, network.outputs), ElementsAre("scores"));
  EXPECT_EQ(network.layers.size(), 1u);
  EXPECT_EQ(network.tensors[static_cast<size_t>(network.outputs[0])].dtype, DType::kInt8);
}

// One output lost its name: both were the same tensor, which bore the last one's.
TEST(WithIntegerBorder, AValueThatIsTwoOutputsKeepsBothNames) {
  Sample sample;
  sample.Result(sample.doubled, "scores");
  sample.Result(sample.doubled, "probabilities");
  const Network network = WithIntegerBorder(sample.b.network);
  QB_EXPECT_OK(integer::ValidateNetwork(network));
  EXPECT_THAT(Names(network, network.outputs), ElementsAre("scores", "probabilities"));
  ASSERT_EQ(network.layers.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<integer::ReshapeParams>(network.layers[1].params));
  const integer::TensorInfo& first = network.tensors[static_cast<size_t>(network.outputs[0])];
  const integer::TensorInfo& second = network.tensors[static_cast<size_t>(network.outputs[1])];
  EXPECT_EQ(second.dtype, DType::kInt8);
  EXPECT_EQ(second.scale, first.scale);
  EXPECT_EQ(second.zero_point, first.zero_point);
}

TEST(WithIntegerBorder, AnInputThatIsAnOutputKeepsBothNames) {
  Sample sample;
  sample.Result(sample.codes, "unchanged");
  sample.Result(sample.doubled, "scores");
  const Network network = WithIntegerBorder(sample.b.network);
  QB_EXPECT_OK(integer::ValidateNetwork(network));
  EXPECT_THAT(Names(network, network.inputs), ElementsAre("image"));
  EXPECT_THAT(Names(network, network.outputs), ElementsAre("unchanged", "scores"));
}

TEST(WithIntegerBorder, OneOutputNamedTwiceStaysTwoOutputs) {
  Sample sample;
  sample.Result(sample.doubled, "scores");
  sample.Result(sample.doubled, "scores");
  const Network network = WithIntegerBorder(sample.b.network);
  QB_EXPECT_OK(integer::ValidateNetwork(network));
  EXPECT_THAT(Names(network, network.outputs), ElementsAre("scores", "scores"));
  EXPECT_NE(network.outputs[0], network.outputs[1]);
}

}  // namespace
}  // namespace qb::npu

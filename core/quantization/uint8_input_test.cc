#include "core/quantization/uint8_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/testing/status_matchers.h"
#include "core/dataset/preprocess/letterbox.h"
#include "core/dataset/testing/pictures.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using testing::InputsOf;
using testing::ParseGraph;
using testing::QuantizeGraph;
using testing::RunInteger;

// 256 pixels, so that every byte is seen in every channel; padding, so that real zero is.
constexpr char kModel[] = R"(
  x = Input float32[1x16x16x3]
  w = InputConstant float32[8x3x3x3] random(7)
  a = Convolution(x, w) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, channel_last=true}
  y = Output(a)
)";

const Uint8Input kImagenet = {"x",
                              {1 / (255 * 0.229), 1 / (255 * 0.224), 1 / (255 * 0.225)},
                              {-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225},
                              3,
                              {}};
const Uint8Input kHalves = {"x", {1 / 127.5, 1 / 127.5, 1 / 127.5}, {-1, -1, -1}, 3, {}};
const Uint8Input kPlain = {"x", {1 / 255.0}, {0}, 3, {}};

size_t At(const Uint8Input& spec, size_t channel) { return spec.scale.size() == 1 ? 0 : channel; }

uint8_t ByteAt(int64_t i) { return static_cast<uint8_t>(i / 3 * (2 * (i % 3) + 1)); }

struct Pair {
  integer::Network real, bytes;
  Tensor real_input = Tensor::Allocate({DType::kFloat32, {1, 16, 16, 3}});
  Tensor byte_input = Tensor::Allocate({DType::kUint8, {1, 16, 16, 3}});
  int codes = 0;  // what the first layer of the model reads, in both

  double step() const {
    return static_cast<double>(real.tensors[static_cast<size_t>(codes)].scale);
  }
};

Pair PairFor(const Uint8Input& spec) {
  Pair pair;
  const absl::StatusOr<Graph> graph = ParseGraph(kModel);
  QB_EXPECT_OK(graph);
  const auto set = MakeRandomDataset(InputsOf(*graph), 4, 5);
  absl::StatusOr<QuantizedModel> model = QuantizeGraph(*graph, *set);
  QB_EXPECT_OK(model);
  pair.real = model->network;
  pair.bytes = model->network;
  QB_EXPECT_OK(MakeInputsUint8({&spec, 1}, pair.bytes));
  pair.codes = pair.real.layers[0].output;
  for (int64_t i = 0; i < pair.byte_input.elements(); ++i) {
    const size_t c = At(spec, static_cast<size_t>(i % 3));
    pair.byte_input.mutable_data<uint8_t>()[i] = ByteAt(i);
    pair.real_input.mutable_data<float>()[i] =
        static_cast<float>(spec.scale[c] * ByteAt(i) + spec.offset[c]);
  }
  return pair;
}

// The codes alone: the layers behind them are cut off.
std::vector<int8_t> CodesOf(integer::Network network, int codes, const Tensor& input) {
  const auto made =
      std::find_if(network.layers.begin(), network.layers.end(),
                   [&](const integer::Layer& layer) { return layer.output == codes; });
  network.layers.erase(made + 1, network.layers.end());
  network.outputs = {codes};
  const std::vector<Tensor> outputs = RunInteger(network, {input});
  const absl::Span<const int8_t> values = outputs[0].values<int8_t>();
  return {values.begin(), values.end()};
}

// How many codes differ. Those that do differ by one, where the bound allows it.
int64_t Differences(const Uint8Input& spec) {
  const Pair pair = PairFor(spec);
  const std::vector<int8_t> real = CodesOf(pair.real, pair.codes, pair.real_input);
  const std::vector<int8_t> bytes = CodesOf(pair.bytes, pair.codes, pair.byte_input);
  int64_t differences = 0;
  for (size_t i = 0; i < real.size(); ++i) {
    if (real[i] == bytes[i]) {
      continue;
    }
    ++differences;
    EXPECT_EQ(std::abs(real[i] - bytes[i]), 1);
    const size_t c = At(spec, i % 3);
    const double code =
        (spec.scale[c] * ByteAt(static_cast<int64_t>(i)) + spec.offset[c]) / pair.step();
    const double from_middle = std::abs(code - std::floor(code) - 0.5);
    EXPECT_LE(from_middle, spec.scale[c] / (254 * pair.step()) + 1e-4) << "element " << i;
  }
  return differences;
}

TEST(Uint8Input, CodesDifferOnlyBesideTheMiddleBetweenTwo) {
  EXPECT_LE(Differences(kImagenet), 4);
  // These offsets are whole biases.
  EXPECT_EQ(Differences(kHalves), 0);
  EXPECT_EQ(Differences(kPlain), 0);
}

TEST(Uint8Input, OutputsDifferByNoMoreThanTheirWeightsMakeOfOneStep) {
  for (const Uint8Input& spec : {kImagenet, kHalves, kPlain}) {
    const Pair pair = PairFor(spec);
    const std::vector<Tensor> want = RunInteger(pair.real, {pair.real_input});
    const std::vector<Tensor> found = RunInteger(pair.bytes, {pair.byte_input});
    const auto layer = std::find_if(
        pair.real.layers.begin(), pair.real.layers.end(), [](const integer::Layer& candidate) {
          return std::holds_alternative<integer::ConvParams>(candidate.params);
        });
    ASSERT_NE(layer, pair.real.layers.end());
    const auto& conv = std::get<integer::ConvParams>(layer->params);
    const size_t channels = conv.weight_scales.size();
    const double rounding =
        static_cast<double>(pair.real.tensors[static_cast<size_t>(layer->output)].scale);
    for (int64_t i = 0; i < want[0].elements(); ++i) {
      const size_t m = static_cast<size_t>(i) % channels;
      const size_t taps = conv.weights.size() / channels;
      double weights = 0;
      for (size_t k = 0; k < taps; ++k) {
        weights += std::abs(conv.weights[m * taps + k]);
      }
      const double bound =
          pair.step() * static_cast<double>(conv.weight_scales[m]) * weights + rounding;
      EXPECT_LE(std::abs(want[0].data<float>()[i] - found[0].data<float>()[i]), bound * 1.0001);
    }
  }
}

// The executable with a folded letterbox on an image equals, to the last bit of every output, the
// one without on the pixels that the preprocessing step makes of that image.
TEST(Uint8Input, AFoldedLetterboxChangesNoBit) {
  const std::pair<Interpolation, int64_t> cases[] = {
      {Interpolation::kNearest, 2},  {Interpolation::kBilinear, 1}, {Interpolation::kBilinear, 2},
      {Interpolation::kBilinear, 3}, {Interpolation::kBilinear, 4}, {Interpolation::kArea, 2},
      {Interpolation::kArea, 3},     {Interpolation::kArea, 4},     {Interpolation::kBicubic, 3}};
  for (const ResizeBackend backend : {ResizeBackend::kOpencv, ResizeBackend::kTorch}) {
    for (const auto& [mode, factor] : cases) {
      for (const Uint8Input& meaning : {kImagenet, kPlain}) {
        const LetterboxStep step{16, 16, 114, backend, mode, true};
        const ImageSize source{9 * factor, 16 * factor};  // seven rows of padding
        const Tensor image =
            testing::Picture(static_cast<int>(factor % 4), 3, source.height, source.width, 3);
        QB_ASSERT_OK_AND_ASSIGN(const Tensor pixels, ApplyStep(step, image));
        Pair pair = PairFor(meaning);
        integer::Network folded = pair.real;
        Uint8Input spec = meaning;
        spec.channel_axis = 3;
        QB_ASSERT_OK_AND_ASSIGN(spec.letterbox, FoldOf(step, source));
        QB_ASSERT_OK(MakeInputsUint8({&spec, 1}, folded));
        const std::vector<Tensor> want =
            RunInteger(pair.bytes, {pixels.Reshaped(Shape{1, 16, 16, 3})});
        const std::vector<Tensor> found =
            RunInteger(folded, {image.Reshaped(Shape{1, source.height, source.width, 3})});
        EXPECT_TRUE(found[0].Equals(want[0]))
            << "mode " << static_cast<int>(mode) << " by " << factor;
      }
    }
  }
}

TEST(Uint8Input, RefusesWhatTheNetworkDoesNotHave) {
  integer::Network network = PairFor(kPlain).real;
  const Uint8Input other = {"z", kPlain.scale, kPlain.offset, kPlain.channel_axis, {}};
  EXPECT_THAT(std::string(MakeInputsUint8({&other, 1}, network).message()),
              ::testing::HasSubstr("input 'z' is none of the network"));
  Uint8Input two = kHalves;
  two.scale.pop_back();
  two.offset.pop_back();
  EXPECT_THAT(std::string(MakeInputsUint8({&two, 1}, network).message()),
              ::testing::HasSubstr("has not 2 channels"));
}

}  // namespace
}  // namespace qb

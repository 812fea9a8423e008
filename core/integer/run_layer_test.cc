#include "core/integer/run_layer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/testing/status_matchers.h"
#include "core/integer/tables.h"
#include "core/integer/testing/random_network.h"
#include "core/integer/validate.h"

namespace qb::integer {
namespace {

using ::qb::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NetworkBuilder;

// The output of the network's last layer for `inputs`, one vector of bytes an input.
std::vector<uint8_t> RunLast(const Network& network, const std::vector<std::vector<int8_t>>& inputs,
                             KernelLevel level) {
  const Layer& layer = network.layers.back();
  absl::StatusOr<LayerKernel> kernel = LayerKernel::Create(layer, network, level);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  if (!kernel.ok()) {
    return {};
  }
  std::vector<const void*> operands;
  operands.reserve(inputs.size());
  for (const std::vector<int8_t>& input : inputs) {
    operands.push_back(input.data());
  }
  const TensorInfo& y = network.tensors[static_cast<size_t>(layer.output)];
  // The guard bytes on each side must stay; as many as keep the elements aligned.
  constexpr size_t kGuard = 16;
  std::vector<uint8_t> output(static_cast<size_t>(y.size_bytes()) + 2 * kGuard, 0x5a);
  Scratch scratch;
  kernel->Run(operands, output.data() + kGuard, scratch);
  const std::vector<uint8_t> guard(kGuard, 0x5a);
  EXPECT_TRUE(std::equal(guard.begin(), guard.end(), output.begin()));
  EXPECT_TRUE(std::equal(guard.begin(), guard.end(), output.end() - kGuard));
  return {output.begin() + kGuard, output.end() - kGuard};
}

// Every form gives the bits of the reference form for the last layer with random inputs.
void ExpectFormsAgree(NetworkBuilder& b, int64_t low = -128, int64_t high = 127) {
  const Layer& layer = b.network.layers.back();
  std::vector<std::vector<int8_t>> inputs;
  for (const int input : layer.inputs) {
    inputs.push_back(b.random.Codes(b.info(input).size_bytes(), low, high));
  }
  const std::vector<uint8_t> expected = RunLast(b.network, inputs, KernelLevel::kReference);
  for (const KernelLevel level : SupportedKernelLevels()) {
    ASSERT_EQ(RunLast(b.network, inputs, level), expected)
        << KernelLevelName(level) << " " << LayerKindName(layer.params);
  }
}

TEST(Convolution, FormsAgreeOnRandomShapes) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    NetworkBuilder b(seed);
    const int x = b.Input({1, b.random.Int(1, 12), b.random.Int(1, 12), b.random.Int(1, 40)});
    b.RandomConv(x);
    ExpectFormsAgree(b);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST(Convolution, FormsAgreeAtSaturation) {
  for (const int32_t zero_point : {-128, 0, 127}) {
    for (const int8_t weight : {int8_t{127}, int8_t{-127}}) {
      for (const int64_t code : {-128, 127}) {
        for (const int64_t groups : {1, 64}) {
          NetworkBuilder b(7);
          const int x = b.Input({1, 5, 5, 64});
          b.network.tensors[0].zero_point = zero_point;
          ConvParams p;
          p.kernel_h = p.kernel_w = 3;
          p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1;
          p.groups = groups;
          b.Conv(x, p, 64);
          ConvParams& conv = std::get<ConvParams>(b.network.layers[0].params);
          std::fill(conv.weights.begin(), conv.weights.end(), weight);
          ExpectFormsAgree(b, code, code);
        }
      }
    }
  }
}

TEST(Convolution, LongSumsDoNotSaturate) {
  // 4608 products of extremes: pairs of them would saturate int16.
  NetworkBuilder b(3);
  const int x = b.Input({1, 3, 3, 512});
  b.network.tensors[0].zero_point = -128;
  ConvParams p;
  p.kernel_h = p.kernel_w = 3;
  b.Conv(x, p, 33);
  ConvParams& conv = std::get<ConvParams>(b.network.layers[0].params);
  std::fill(conv.weights.begin(), conv.weights.end(), int8_t{127});
  std::fill(conv.bias.begin(), conv.bias.end(), 0);
  // 4608 * 127 * 255 / 2^21 = 71.16
  std::fill(conv.requant.begin(), conv.requant.end(), Requant{1 << 30, 51});
  b.network.tensors[1].zero_point = 0;
  conv.clamp_min = -128;
  conv.clamp_max = 127;
  for (const KernelLevel level : SupportedKernelLevels()) {
    const std::vector<uint8_t> y =
        RunLast(b.network, {std::vector<int8_t>(4608, 127)}, level);
    EXPECT_EQ(y, std::vector<uint8_t>(33, 71)) << KernelLevelName(level);
  }
}

TEST(Convolution, ComputesAKnownResult) {
  NetworkBuilder b(1);
  const int x = b.Input({1, 1, 3, 1});
  b.network.tensors[0].zero_point = 1;
  ConvParams p;
  p.kernel_w = 2;
  p.pad_right = 1;
  b.Conv(x, p, 1);
  ConvParams& conv = std::get<ConvParams>(b.network.layers[0].params);
  conv.weights = {2, -3};
  conv.bias = {5};
  conv.requant = {{1, 1}};
  conv.clamp_min = -128;
  conv.clamp_max = 127;
  b.network.tensors[1].zero_point = 10;
  // Real inputs 3, -1, 4, padding 0: sums 9, -14, 8 and with bias 14, -9, 13; halved, half to even.
  const std::vector<uint8_t> y = RunLast(b.network, {{4, 0, 5}}, BestKernelLevel());
  EXPECT_THAT(y, ElementsAre(17, 6, 16));
}

TEST(Convolution, TakesVectorsAsOneRowOfPixels) {
  NetworkBuilder b(5);
  const int x = b.Input({3, 20});
  ConvParams p;
  p.weights = b.random.Codes(int64_t{20} * 7, -127, 127);
  p.bias.assign(7, 3);
  p.requant.assign(7, {1 << 30, 40});
  b.Layer({x}, {3, 7}, p);
  ExpectFormsAgree(b);
}

TEST(Convolution, AccumulatorSumsEqualTheSumsOfAccumulators) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    NetworkBuilder b(seed);
    const int x = b.Input({1, b.random.Int(2, 9), b.random.Int(2, 9), b.random.Int(1, 12)});
    const int y = b.RandomConv(x);
    Layer& layer = b.network.layers[0];
    ConvParams& conv = std::get<ConvParams>(layer.params);
    const std::vector<int8_t> codes = b.random.Codes(b.info(x).size_bytes());
    const std::vector<int64_t> sums = ConvAccumulatorSums(layer, b.network, codes.data());
    // Read accumulators back bit by bit of precision: small weights, multiplier 1, no clamp needed.
    for (int8_t& weight : conv.weights) {
      weight = static_cast<int8_t>(weight / 127);
    }
    std::fill(conv.bias.begin(), conv.bias.end(), 1);
    std::fill(conv.requant.begin(), conv.requant.end(), Requant{1 << 30, 30});
    conv.clamp_min = -128;
    conv.clamp_max = 127;
    b.network.tensors[static_cast<size_t>(x)].zero_point = 0;
    b.network.tensors[static_cast<size_t>(y)].zero_point = 0;
    std::vector<int8_t> few(codes.size(), 0);
    for (size_t i = 0; i < few.size(); i += 7) {
      few[i] = static_cast<int8_t>(codes[i] % 3);
    }
    const std::vector<uint8_t> accumulators = RunLast(b.network, {few}, KernelLevel::kReference);
    const std::vector<int64_t> small = ConvAccumulatorSums(layer, b.network, few.data());
    std::vector<int64_t> expected(small.size(), 0);
    for (size_t i = 0; i < accumulators.size(); ++i) {
      expected[i % small.size()] += static_cast<int8_t>(accumulators[i]);
    }
    EXPECT_EQ(small, expected) << seed;
    EXPECT_EQ(sums.size(), small.size());
  }
}

TEST(MatMul, FormsAgreeOnRandomShapes) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    NetworkBuilder b(seed);
    const int64_t m = b.random.Int(1, 20);
    const int64_t k = b.random.Int(1, 50);
    const int64_t n = b.random.Int(1, 50);
    const int64_t heads = b.random.Int(1, 3);
    const int x = b.Input({heads, m, k});
    const int w = b.Input({b.random.Chance(50) ? 1 : heads, k, n});
    MatMulParams p;
    p.requant = b.SomeRequant(5000.0 * static_cast<double>(k));
    b.Layer({x, w}, {heads, m, n}, p);
    ExpectFormsAgree(b);
  }
}

TEST(Elementwise, FormsAgreeOnRandomBroadcasts) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    NetworkBuilder b(seed);
    std::vector<int64_t> dims_a;
    std::vector<int64_t> dims_b;
    for (int axis = 0; axis < 4; ++axis) {
      const int64_t extent = b.random.Int(1, 5);
      dims_a.push_back(b.random.Chance(25) ? 1 : extent);
      dims_b.push_back(b.random.Chance(25) ? 1 : extent);
    }
    if (b.random.Chance(30)) {
      dims_b.erase(dims_b.begin());
    }
    const int x = b.Input(Shape(dims_a));
    const int y = b.Input(Shape(dims_b));
    b.Eltwise(x, y, static_cast<EltwiseKind>(seed % 3));
    ExpectFormsAgree(b);
  }
}

TEST(Elementwise, RoundsTiesToEven) {
  NetworkBuilder b(1);
  const int x = b.Input({6});
  const int y = b.Input({6});
  b.Eltwise(x, y, EltwiseKind::kAdd);
  EltwiseParams& p = std::get<EltwiseParams>(b.network.layers[0].params);
  p.multiplier_a = p.multiplier_b = 1 << 15;
  p.shift = 16;
  p.clamp_min = -128;
  for (TensorInfo& tensor : b.network.tensors) {
    tensor.zero_point = 0;
  }
  for (const KernelLevel level : SupportedKernelLevels()) {
    const std::vector<uint8_t> sums =
        RunLast(b.network, {{1, 3, 5, -1, -3, 127}, {0, 0, 0, 0, 0, 127}}, level);
    EXPECT_THAT(sums, ElementsAre(0, 2, 2, 0, 254, 127));
  }
}

TEST(Pool, FormsAgreeOnRandomShapes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    NetworkBuilder b(seed);
    const int x = b.Input({1, b.random.Int(1, 9), b.random.Int(1, 9), b.random.Int(1, 20)});
    b.RandomPool(x);
    ExpectFormsAgree(b);
  }
}

TEST(Reduce, FormsAgreeOnAnyAxes) {
  for (int64_t mask = 1; mask < 16; ++mask) {
    NetworkBuilder b(static_cast<uint64_t>(mask));
    std::vector<int64_t> dims = {2, 3, 4, 5};
    const int x = b.Input(Shape(dims));
    ReduceParams p;
    for (int64_t axis = 0; axis < 4; ++axis) {
      if ((mask >> axis & 1) != 0) {
        p.axes.push_back(axis);
        dims[static_cast<size_t>(axis)] = 1;
      }
    }
    p.requant = *RequantFromMultiplier(0.1);
    b.Layer({x}, Shape(dims), p);
    ExpectFormsAgree(b);
  }
}

TEST(Rescale, FormsAgree) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    NetworkBuilder b(seed);
    const int x = b.Input({300});
    b.Layer({x}, {300}, RequantParams{*RequantFromMultiplier(b.random.Real(0.001, 4.0))});
    ExpectFormsAgree(b);
  }
}

TEST(Concat, FormsAgreeAlongEveryAxis) {
  for (int64_t axis = 0; axis < 4; ++axis) {
    NetworkBuilder b(static_cast<uint64_t>(axis));
    std::vector<int64_t> dims = {2, 3, 4, 5};
    const int x = b.Input(Shape(dims));
    dims[static_cast<size_t>(axis)] = 7;
    const int y = b.Input(Shape(dims));
    dims[static_cast<size_t>(axis)] = 7 + b.shape(x)[axis];
    ConcatParams p;
    p.axis = axis;
    p.requant = {*RequantFromMultiplier(0.7), Requant{}};
    p.same_scale = {0, 1};
    b.Layer({x, y}, Shape(dims), p);
    ExpectFormsAgree(b);
  }
}

TEST(Transpose, FormsAgreeOnRandomPermutations) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    NetworkBuilder b(seed);
    const size_t rank = static_cast<size_t>(b.random.Int(1, 5));
    std::vector<int64_t> dims(rank);
    TransposeParams p;
    for (size_t i = 0; i < rank; ++i) {
      dims[i] = b.random.Chance(25) ? 1 : b.random.Int(1, 6);
      p.axes.insert(p.axes.begin() + b.random.Int(0, static_cast<int64_t>(i)),
                    static_cast<int64_t>(i));
    }
    const DType dtype = b.random.Chance(50) ? DType::kInt8 : DType::kFloat32;
    const int x = b.Input(Shape(dims), dtype);
    std::vector<int64_t> out;
    for (const int64_t axis : p.axes) {
      out.push_back(dims[static_cast<size_t>(axis)]);
    }
    b.Layer({x}, Shape(out), p, dtype);
    ExpectFormsAgree(b);
  }
}

TEST(Transpose, TakesNchwToNhwc) {
  NetworkBuilder b(1);
  const int x = b.Input({1, 2, 1, 3});
  b.Layer({x}, {1, 1, 3, 2}, TransposeParams{{0, 2, 3, 1}});
  EXPECT_THAT(RunLast(b.network, {{1, 2, 3, 4, 5, 6}}, BestKernelLevel()),
              ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Slice, WalksForwardsAndBackwards) {
  NetworkBuilder b(1);
  const int x = b.Input({2, 5});
  b.Layer({x}, {2, 2}, SliceParams{{0, 4}, {1, -3}});
  EXPECT_THAT(RunLast(b.network, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}, BestKernelLevel()),
              ElementsAre(4, 1, 9, 6));
}

TEST(Pad, SurroundsWithTheCode) {
  NetworkBuilder b(1);
  const int x = b.Input({1, 2});
  b.Layer({x}, {2, 4}, PadParams{{1, 1}, -3});
  EXPECT_THAT(RunLast(b.network, {{7, 8}}, BestKernelLevel()),
              ElementsAre(253, 253, 253, 253, 253, 7, 8, 253));
}

TEST(ResizeNearest, FollowsTheIndices) {
  NetworkBuilder b(1);
  const int x = b.Input({1, 2, 2, 1});
  b.Layer({x}, {1, 3, 3, 1}, ResizeNearestParams{{0, 0, 1}, {1, 0, 0}});
  EXPECT_THAT(RunLast(b.network, {{1, 2, 3, 4}}, BestKernelLevel()),
              ElementsAre(2, 1, 1, 2, 1, 1, 4, 3, 3));
}

TEST(DepthToSpace, KnowsBothOrders) {
  for (const bool crd : {false, true}) {
    NetworkBuilder b(1);
    const int x = b.Input({1, 1, 1, 8});
    b.Layer({x}, {1, 2, 2, 2}, DepthToSpaceParams{2, crd});
    const std::vector<uint8_t> y =
        RunLast(b.network, {{0, 1, 2, 3, 4, 5, 6, 7}}, BestKernelLevel());
    if (crd) {
      EXPECT_THAT(y, ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
    } else {
      EXPECT_THAT(y, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    }
  }
}

TEST(Lut, LooksUpEveryCode) {
  NetworkBuilder b(2);
  const int x = b.Input({256});
  b.Lut(x);
  std::vector<int8_t> codes;
  std::vector<uint8_t> expected;
  const std::vector<int8_t>& table = std::get<LutParams>(b.network.layers[0].params).table;
  for (int code = -128; code <= 127; ++code) {
    codes.push_back(static_cast<int8_t>(code));
    expected.push_back(static_cast<uint8_t>(table[static_cast<size_t>(code) + 128]));
  }
  EXPECT_EQ(RunLast(b.network, {codes}, BestKernelLevel()), expected);
}

TEST(Softmax, IsWithinOneCodeOfTheRealFunctionAndSumsToOne) {
  NetworkBuilder b(4);
  const int x = b.Input({4, 10});
  SoftmaxParams p;
  p.exp_table = SoftmaxExpTable(static_cast<double>(b.info(x).scale));
  const int y = b.Layer({x}, {4, 10}, p);
  b.network.tensors[static_cast<size_t>(y)].scale = 1.0f / 256;
  b.network.tensors[static_cast<size_t>(y)].zero_point = -128;
  const std::vector<int8_t> codes = b.random.Codes(40);
  const std::vector<uint8_t> result = RunLast(b.network, {codes}, BestKernelLevel());
  for (size_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 10; ++i) {
      sum += std::exp(codes[row * 10 + i] * static_cast<double>(b.info(x).scale));
    }
    for (size_t i = 0; i < 10; ++i) {
      const double real = std::exp(codes[row * 10 + i] * static_cast<double>(b.info(x).scale)) / sum;
      const double got = (static_cast<int8_t>(result[row * 10 + i]) + 128) / 256.0;
      EXPECT_NEAR(got, std::min(real, 255.0 / 256), 0.51 / 256);
    }
  }
}

TEST(Quantize, RoundsTiesToEvenSaturatesAndTakesNanAsZero) {
  NetworkBuilder b(1);
  const int x = b.Input({10}, DType::kFloat32);
  const int y = b.Layer({x}, {10}, QuantizeParams{});
  b.network.tensors[static_cast<size_t>(y)].scale = 0.5f;
  b.network.tensors[static_cast<size_t>(y)].zero_point = -10;
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.25f, 0.75f, -0.25f, -0.75f, 1e30f,
                                     -1e30f, inf,   -inf,   NAN,    3.1f};
  std::vector<int8_t> bytes(40);
  std::memcpy(bytes.data(), values.data(), 40);
  const std::vector<uint8_t> codes = RunLast(b.network, {bytes}, BestKernelLevel());
  EXPECT_EQ(std::vector<int8_t>(codes.begin(), codes.end()),
            (std::vector<int8_t>{-10, -8, -10, -12, 127, -128, 127, -128, -10, -4}));
}

TEST(Dequantize, ScalesEveryCode) {
  NetworkBuilder b(1);
  const int x = b.Input({3});
  b.network.tensors[0].scale = 0.25f;
  b.network.tensors[0].zero_point = 2;
  b.Layer({x}, {3}, DequantizeParams{}, DType::kFloat32);
  const std::vector<uint8_t> bytes = RunLast(b.network, {{2, -128, 127}}, BestKernelLevel());
  float values[3];
  std::memcpy(values, bytes.data(), sizeof(values));
  EXPECT_THAT(values, ElementsAre(0.0f, -32.5f, 31.25f));
}

TEST(Dequantize, KnowsStepsAndZeroPointsByChannel) {
  NetworkBuilder b(1);
  const int x = b.Input({2, 2, 2});
  b.network.tensors[0].scale = 0.5f;
  b.network.tensors[0].channel_axis = 1;
  b.network.tensors[0].channel_factors = {1.0f, 0.25f};
  b.network.tensors[0].channel_zero_points = {0, -128};
  b.Layer({x}, {2, 2, 2}, DequantizeParams{}, DType::kFloat32);
  const std::vector<uint8_t> bytes =
      RunLast(b.network, {{2, -4, -128, -120, 1, 3, 127, 0}}, BestKernelLevel());
  float values[8];
  std::memcpy(values, bytes.data(), sizeof(values));
  EXPECT_THAT(values, ElementsAre(1.0f, -2.0f, 0.0f, 1.0f, 0.5f, 1.5f, 31.875f, 16.0f));
}

TEST(InPlace, GivesTheSameBits) {
  NetworkBuilder b(9);
  const int x = b.Input({2, 30});
  const int y = b.Input({2, 30});
  b.Eltwise(x, y, EltwiseKind::kSub);
  b.Lut(x);
  b.Layer({x}, {2, 30}, RequantParams{*RequantFromMultiplier(0.3)});
  const int z = b.Layer({x}, {2, 30}, SoftmaxParams{SoftmaxExpTable(0.05)});
  b.network.tensors[static_cast<size_t>(z)].scale = 1.0f / 256;
  b.Layer({x}, {60}, ReshapeParams{});
  for (const Layer& layer : b.network.layers) {
    ASSERT_TRUE(MayRunInPlace(layer, b.network, 0)) << layer.name;
    std::vector<int8_t> first = b.random.Codes(60);
    const std::vector<int8_t> second = b.random.Codes(60);
    std::vector<const void*> inputs = {first.data()};
    if (layer.inputs.size() == 2) {
      inputs.push_back(second.data());
    }
    std::vector<int8_t> apart(60);
    Scratch scratch;
    QB_ASSERT_OK(RunLayer(layer, b.network, inputs, apart.data(), scratch));
    QB_ASSERT_OK(RunLayer(layer, b.network, inputs, first.data(), scratch));
    EXPECT_EQ(first, apart) << LayerKindName(layer.params);
  }
}

TEST(RunNetwork, RunsABranchAndCountsItsArguments) {
  NetworkBuilder b(3);
  const int x = b.Input({1, 6, 6, 8});
  ConvParams p;
  const int left = b.Conv(x, p, 8);
  const int right = b.Lut(x);
  const int sum = b.Eltwise(left, right, EltwiseKind::kAdd);
  b.Output(sum);
  b.Output(left);
  const std::vector<int8_t> codes = b.random.Codes(288);
  std::vector<int8_t> y(288);
  std::vector<int8_t> z(288);
  QB_ASSERT_OK_AND_ASSIGN(NetworkRunner runner, NetworkRunner::Create(b.network));
  std::vector<int64_t> seen;
  QB_ASSERT_OK(runner.Run({codes.data()}, {y.data(), z.data()},
                          [&](int64_t index, const void*) { seen.push_back(index); }));
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
  std::vector<int8_t> again(288);
  QB_ASSERT_OK(RunNetwork(b.network, {codes.data()}, {again.data(), z.data()}));
  EXPECT_EQ(again, y);
  EXPECT_THAT(runner.Run({}, {y.data(), z.data()}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 inputs")));
}

}  // namespace
}  // namespace qb::integer

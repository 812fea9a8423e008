// 16-bit codes and weights, 4-bit weights, transposed convolution, linear resize, PRelu: every form
// against the reference, known results, extremes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "core/base/testing/status_matchers.h"
#include "core/integer/run_layer.h"
#include "core/integer/tables.h"
#include "core/integer/testing/random_network.h"
#include "core/integer/validate.h"

namespace qb::integer {
namespace {

using ::qb::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NetworkBuilder;

using Bytes = std::vector<int8_t>;

Bytes RunLast(const Network& network, const std::vector<Bytes>& inputs, KernelLevel level) {
  const Layer& layer = network.layers.back();
  absl::StatusOr<LayerKernel> kernel = LayerKernel::Create(layer, network, level);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  if (!kernel.ok()) {
    return {};
  }
  std::vector<const void*> operands;
  operands.reserve(inputs.size());
  for (const Bytes& input : inputs) {
    operands.push_back(input.data());
  }
  const TensorInfo& y = network.tensors[static_cast<size_t>(layer.output)];
  // Guards on each side must stay; they keep the alignment of the widest type.
  Bytes output(static_cast<size_t>(y.size_bytes()) + 16, 0x5a);
  Scratch scratch;
  kernel->Run(operands, output.data() + 8, scratch);
  EXPECT_EQ(output[7], 0x5a);
  EXPECT_EQ(output[output.size() - 8], 0x5a);
  return {output.begin() + 8, output.end() - 8};
}

Bytes RandomCodes(NetworkBuilder& b, int tensor) {
  const TensorInfo& info = b.info(tensor);
  return info.dtype == DType::kInt16 ? b.random.Codes16(info.shape.elements())
                                     : b.random.Codes(info.shape.elements());
}

// How far the results spread: a test whose results all saturate tests nothing.
int Distinct(const Bytes& bytes) {
  std::vector<bool> seen(256, false);
  for (const int8_t byte : bytes) {
    seen[static_cast<uint8_t>(byte)] = true;
  }
  return static_cast<int>(std::count(seen.begin(), seen.end(), true));
}

void ExpectFormsAgree(NetworkBuilder& b, int* distinct = nullptr) {
  std::vector<Bytes> inputs;
  for (const int input : b.network.layers.back().inputs) {
    inputs.push_back(RandomCodes(b, input));
  }
  const Bytes expected = RunLast(b.network, inputs, KernelLevel::kReference);
  for (const KernelLevel level : SupportedKernelLevels()) {
    ASSERT_EQ(RunLast(b.network, inputs, level), expected) << KernelLevelName(level);
  }
  if (distinct != nullptr) {
    *distinct += Distinct(expected);
  }
}

DType SomeType(NetworkBuilder& b) { return b.random.Chance(60) ? DType::kInt16 : DType::kInt8; }

int32_t SomeWidth(NetworkBuilder& b) {
  const int32_t widths[] = {4, 8, 16};
  return widths[b.random.Int(0, 2)];
}

int32_t CodeAt(const Bytes& bytes, DType type, size_t i) {
  if (type == DType::kInt8) {
    return int32_t{bytes[i]};  // NOLINT(bugprone-signed-char-misuse): a code, not a character
  }
  int16_t wide = 0;
  std::memcpy(&wide, bytes.data() + 2 * i, 2);
  return wide;
}

// Every int16 code through a table, against the function.
double WorstSteps(const std::function<double(double)>& function, DType dtype, float scale) {
  NetworkBuilder b(1);
  const int x = b.Input({65535}, DType::kInt16);
  const int y = b.Layer({x}, {65535}, LutParams{}, dtype);
  b.network.tensors[static_cast<size_t>(x)].scale = 20.0f / 32767.0f;
  TensorInfo& out = b.network.tensors[static_cast<size_t>(y)];
  out.scale = scale;
  out.zero_point = 0;
  b.network.layers[0].params = KnotTable(function, b.info(x), b.info(y));
  Bytes codes(size_t{2} * 65535);
  for (size_t i = 0; i < 65535; ++i) {
    const int16_t narrow = static_cast<int16_t>(static_cast<int32_t>(i) - 32767);
    std::memcpy(codes.data() + 2 * i, &narrow, 2);
  }
  const Bytes result = RunLast(b.network, {codes}, BestKernelLevel());
  double worst = 0.0;
  for (size_t i = 0; i < 65535; ++i) {
    const int32_t code = static_cast<int32_t>(i) - 32767;
    const int32_t found = CodeAt(result, dtype, i);
    const double steps = function(20.0 / 32767.0 * code) / static_cast<double>(scale);
    const double held = std::clamp<double>(steps, LeastCode(dtype), MostCode(dtype));
    worst = std::max(worst, std::abs(held - found));
  }
  return worst;
}

TEST(WideLut, IsTheFunctionToAFractionOfAStep) {
  const auto swish = [](double x) { return x / (1.0 + std::exp(-x)); };
  const auto sigmoid = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  EXPECT_LT(WorstSteps(swish, DType::kInt8, 20.0f / 127.0f), 0.51);
  EXPECT_LT(WorstSteps(sigmoid, DType::kInt8, 1.0f / 127.0f), 0.52);
  EXPECT_LT(WorstSteps([](double x) { return x; }, DType::kInt8, 0.01f), 0.51);  // most saturate
  EXPECT_LT(WorstSteps([](double) { return 0.0; }, DType::kInt8, 0.1f), 0.01);
  EXPECT_LT(WorstSteps(sigmoid, DType::kInt16, 1.0f / 32767.0f), 4.0);
  // Not a number below zero: as the table of 8 bits has it.
  const auto root = [](double x) { return x < 0 ? std::nan("") : std::sqrt(x); };
  NetworkBuilder b(1);
  const int x = b.Input({4}, DType::kInt16);
  EXPECT_EQ(KnotTable(root, b.info(x), b.info(b.Tensor({4}, DType::kInt8))).knots[100], 0);
}

TEST(WideLut, HasARescalingForEachChannel) {
  NetworkBuilder b(1);
  const int x = b.Input({2, 2}, DType::kInt16);
  LutParams p;
  for (int knot = 0; knot < 513; ++knot) {
    p.knots.push_back(static_cast<int16_t>((knot - 256) * 64));
  }
  p.requant = {*RequantFromMultiplier(1.0 / 128), *RequantFromMultiplier(1.0 / 64)};
  const int y = b.Layer({x}, {2, 2}, p);
  b.network.tensors[static_cast<size_t>(y)].zero_point = 5;
  const int16_t codes[] = {10, 10, -3, 30000};
  Bytes bytes(sizeof(codes));
  std::memcpy(bytes.data(), codes, sizeof(codes));
  // v = 64 * code: code / 2 and code, half to even.
  EXPECT_THAT(RunLast(b.network, {bytes}, BestKernelLevel()), ElementsAre(10, 15, 3, 127));
}

TEST(WideConvolution, FormsAgreeOnRandomShapes) {
  int distinct = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    NetworkBuilder b(seed);
    const int x = b.Input({1, b.random.Int(1, 12), b.random.Int(1, 12), b.random.Int(1, 40)}, SomeType(b));
    b.RandomConv(x);
    b.Widen(SomeWidth(b), SomeType(b));
    ExpectFormsAgree(b, &distinct);
    if (HasFatalFailure()) {
      return;
    }
  }
  EXPECT_GT(distinct, 300 * 20);
}

TEST(WideConvolution, LongSumsOfExtremesAreExact) {
  // 9 * 2000 products of -32767 and -32768: 1.93e13, far beyond 32 bits.
  for (const int32_t bits : {8, 16}) {
    NetworkBuilder b(3);
    const int x = b.Input({1, 3, 3, 2000}, DType::kInt16);
    ConvParams p;
    p.kernel_h = p.kernel_w = 3;
    b.Conv(x, p, 9);
    b.Widen(bits, DType::kInt16);
    ConvParams& conv = std::get<ConvParams>(b.network.layers[0].params);
    std::fill(conv.weights.begin(), conv.weights.end(), int8_t{-127});
    std::fill(conv.weights16.begin(), conv.weights16.end(), int16_t{-32768});
    std::fill(conv.wide_bias.begin(), conv.wide_bias.end(), 5);
    std::fill(conv.requant.begin(), conv.requant.end(), Requant{1 << 30, bits == 16 ? 60 : 52});
    conv.clamp_min = -32767;
    Bytes input;
    for (int i = 0; i < 18000; ++i) {
      input.push_back(0x01);
      input.push_back(static_cast<int8_t>(0x80));  // -32767
    }
    const double sum = 18000.0 * 32767 * (bits == 16 ? 32768 : 127) + 5;
    const int16_t expected = static_cast<int16_t>(std::nearbyint(std::ldexp(sum, bits == 16 ? -30 : -22)));
    for (const KernelLevel level : SupportedKernelLevels()) {
      const Bytes y = RunLast(b.network, {input}, level);
      int16_t codes[9];
      std::memcpy(codes, y.data(), sizeof(codes));
      for (const int16_t code : codes) {
        EXPECT_EQ(code, expected) << KernelLevelName(level) << " " << bits;
      }
    }
  }
}

TEST(WideConvolution, FormsAgreeAtTheEndsOfCodesAndWeights) {
  for (const int16_t weight : {int16_t{-32768}, int16_t{32639}, int16_t{127}, int16_t{-129}}) {
    for (const int64_t groups : {1, 32}) {
      NetworkBuilder b(7);
      const int x = b.Input({1, 6, 6, 32}, groups == 1 ? DType::kInt16 : DType::kInt8);
      if (groups == 32) {
        b.network.tensors[0].zero_point = 127;
      }
      ConvParams p;
      p.kernel_h = p.kernel_w = 3;
      p.pad_top = p.pad_right = 1;
      p.groups = groups;
      b.Conv(x, p, 32);
      b.Widen(16, DType::kInt16);
      ConvParams& conv = std::get<ConvParams>(b.network.layers[0].params);
      std::fill(conv.weights16.begin(), conv.weights16.end(), weight);
      ExpectFormsAgree(b);
    }
  }
}

TEST(WideConvolution, RefusesWhatItCannotHold) {
  NetworkBuilder b(1);
  const int x = b.Input({1, 4, 4, 4}, DType::kInt16);
  b.Conv(x, ConvParams{}, 4);
  b.Widen(16, DType::kInt16);
  const Network valid = b.network;
  QB_EXPECT_OK(ValidateNetwork(valid));
  const auto refused = [&](const char* message, const auto& damage) {
    Network network = valid;
    damage(network, std::get<ConvParams>(network.layers[0].params));
    EXPECT_THAT(ValidateNetwork(network),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused("weight is 32640", [](Network&, ConvParams& p) { p.weights16[3] = 32640; });
  refused("weights of 5 bits", [](Network&, ConvParams& p) {
    p.weight_bits = 5;
    p.weights.assign(16, 1);
    p.weights16.clear();
  });
  refused("accepted: one kind", [](Network&, ConvParams& p) { p.weights.assign(16, 1); });
  refused("0 wide biases", [](Network&, ConvParams& p) { p.wide_bias.clear(); });
  refused("32-bit and 64-bit", [](Network&, ConvParams& p) { p.bias.assign(4, 1); });
  refused("more than 2^62", [](Network&, ConvParams& p) { p.wide_bias[1] = int64_t{1} << 62; });
  refused("[-32767, 32767]", [](Network&, ConvParams& p) { p.clamp_min = -32768; });
  refused("zero point 3", [](Network& n, ConvParams&) { n.tensors[0].zero_point = 3; });
  refused("-7 to 7", [](Network&, ConvParams& p) {
    p.weight_bits = 4;
    p.weights.assign(16, 8);
    p.weights16.clear();
  });
}

TEST(WideConvolution, RunsRowsAlone) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    NetworkBuilder b(seed);
    const int x = b.Input({1, b.random.Int(4, 12), b.random.Int(1, 8), b.random.Int(1, 20)}, SomeType(b));
    b.RandomConv(x);
    b.Widen(SomeWidth(b), SomeType(b));
    const TensorInfo& y = b.info(b.network.layers.back().output);
    const Bytes input = RandomCodes(b, x);
    for (const KernelLevel level : SupportedKernelLevels()) {
      const Bytes whole = RunLast(b.network, {input}, level);
      QB_ASSERT_OK_AND_ASSIGN(const LayerKernel kernel,
                              LayerKernel::Create(b.network.layers[0], b.network, level));
      Bytes parts(whole.size(), 0x11);
      Scratch scratch;
      const int64_t middle = y.shape[1] / 2;
      if (middle > 0) {
        kernel.RunRows({input.data()}, parts.data(), 0, middle, scratch);
      }
      kernel.RunRows({input.data()}, parts.data(), middle, y.shape[1], scratch);
      ASSERT_EQ(parts, whole) << seed << " " << KernelLevelName(level);
    }
  }
}

TEST(WideMatMul, FormsAgreeOnRandomShapes) {
  int distinct = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    NetworkBuilder b(seed);
    const int64_t k = b.random.Chance(10) ? b.random.Int(500, 900) : b.random.Int(1, 60);
    const int64_t m = b.random.Int(1, 20);
    const int64_t n = b.random.Int(1, 40);
    const int a = b.Input({2, m, k}, SomeType(b));
    const int c = b.Input({b.random.Int(1, 2), k, n}, SomeType(b));
    const DType type = SomeType(b);
    MatMulParams p;
    double magnitude = 5000.0 * std::sqrt(static_cast<double>(k));
    magnitude *= b.info(a).dtype == DType::kInt16 ? 256 : 1;
    magnitude *= b.info(c).dtype == DType::kInt16 ? 256 : 1;
    p.requant = b.SomeRequant(magnitude / (type == DType::kInt16 ? 256 : 1));
    if (type == DType::kInt16) {
      p.clamp_min = -32767;
      p.clamp_max = 32767;
    }
    b.Layer({a, c}, {2, m, n}, p, type);
    ExpectFormsAgree(b, &distinct);
    if (HasFatalFailure()) {
      return;
    }
  }
  EXPECT_GT(distinct, 120 * 20);
}

TEST(WideElementwise, FormsAgreeAndMatchTheDefinition) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    NetworkBuilder b(seed);
    const int a = b.Input({3, 17}, SomeType(b));
    const int c = b.Input({b.random.Chance(50) ? 3 : 1, 17}, SomeType(b));
    b.Eltwise(a, c, static_cast<EltwiseKind>(b.random.Int(0, 2)));
    EltwiseParams& p = std::get<EltwiseParams>(b.network.layers[0].params);
    TensorInfo& y = b.network.tensors.back();
    y.dtype = DType::kInt16;
    y.zero_point = 0;
    p.clamp_min = -32767;
    p.clamp_max = 32767;
    ExpectFormsAgree(b);
  }
  NetworkBuilder b(1);
  const int a = b.Input({2}, DType::kInt16);
  const int c = b.Input({2}, DType::kInt16);
  EltwiseParams p;
  p.multiplier_a = p.multiplier_b = 1;
  p.shift = 1;
  p.clamp_min = -32767;
  p.clamp_max = 32767;
  b.Layer({a, c}, {2}, p, DType::kInt16);
  // (1000 + 2000) / 2 and (-3 + 2) / 2, half to even.
  const Bytes y = RunLast(b.network, {{-24, 3, -3, -1}, {-48, 7, 2, 0}}, BestKernelLevel());
  EXPECT_THAT(y, ElementsAre(-36, 5, 0, 0));
}

TEST(Rescale, GoesBetweenEightAndSixteenBits) {
  NetworkBuilder b(1);
  const int x = b.Input({3});
  b.network.tensors[0].zero_point = 7;
  const int wide = b.Layer({x}, {3}, RequantParams{*RequantFromMultiplier(256)}, DType::kInt16);
  EXPECT_THAT(RunLast(b.network, {{127, 7, -128}}, BestKernelLevel()),
              ElementsAre(0, 120, 0, 0, 1, -128));  // -34560 saturates
  b.Layer({wide}, {3}, RequantParams{*RequantFromMultiplier(1.0 / 256)});
  b.network.tensors[2].zero_point = -1;
  // 32767 / 256 = 127.996, -32767 / 256, 384 / 256 = 1.5 (to even).
  EXPECT_THAT(RunLast(b.network, {{-1, 127, 1, -128, -128, 1}}, BestKernelLevel()),
              ElementsAre(127, -128, 1));
}

TEST(Border, QuantizesToSixteenBitsAndBack) {
  NetworkBuilder b(1);
  const int x = b.Input({6}, DType::kFloat32);
  const int codes = b.Layer({x}, {6}, QuantizeParams{}, DType::kInt16);
  b.network.tensors[1].scale = 0.5f;
  const float values[] = {0.25f, 0.75f, -16383.5f, 1e30f, -1e30f, NAN};
  Bytes bytes(24);
  std::memcpy(bytes.data(), values, 24);
  const Bytes stored = RunLast(b.network, {bytes}, BestKernelLevel());
  int16_t result[6];
  std::memcpy(result, stored.data(), sizeof(result));
  EXPECT_THAT(result, ElementsAre(0, 2, -32767, 32767, -32767, 0));
  b.Layer({codes}, {6}, DequantizeParams{}, DType::kFloat32);
  const Bytes real = RunLast(b.network, {stored}, BestKernelLevel());
  float reals[6];
  std::memcpy(reals, real.data(), sizeof(reals));
  EXPECT_THAT(reals, ElementsAre(0.0f, 1.0f, -16383.5f, 16383.5f, -16383.5f, 0.0f));
}

TEST(Movement, MovesSixteenBitCodes) {
  NetworkBuilder b(4);
  const int x = b.Input({1, 2, 3, 8}, DType::kInt16);
  b.Layer({x}, {1, 3, 8, 2}, TransposeParams{{0, 2, 3, 1}}, DType::kInt16);
  ExpectFormsAgree(b);
  b.Layer({x}, {1, 4, 3, 8}, PadParams{{0, 1, 0, 0}, -20000}, DType::kInt16);
  ExpectFormsAgree(b);
  b.Layer({x}, {1, 4, 6, 2}, DepthToSpaceParams{2, true}, DType::kInt16);
  ExpectFormsAgree(b);
}

TEST(ConvTranspose, FormsAgreeOnRandomShapes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    NetworkBuilder b(seed);
    const int x = b.Input({1, b.random.Int(2, 7), b.random.Int(2, 7), b.random.Int(1, 20)},
                          b.random.Chance(30) ? DType::kInt16 : DType::kInt8);
    b.RandomConvTranspose(x);
    if (b.info(x).dtype == DType::kInt16 || b.random.Chance(30)) {
      b.Widen(SomeWidth(b), SomeType(b));
    }
    ExpectFormsAgree(b);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST(ConvTranspose, ComputesAKnownResult) {
  NetworkBuilder b(1);
  const int x = b.Input({1, 1, 2, 1});
  b.network.tensors[0].zero_point = 1;
  ConvTransposeParams p;
  p.conv.kernel_w = 3;
  p.conv.stride_w = 2;
  p.conv.weights = {1, 2, 3};
  p.conv.bias = {10};
  p.conv.requant = {*RequantFromMultiplier(1)};
  p.output_pad_w = 1;
  const int y = b.Layer({x}, {1, 1, 6, 1}, p);
  b.network.tensors[static_cast<size_t>(y)].zero_point = 0;
  // Real inputs 4 and 5: 4 8 12+5 10 15, a column of bias alone.
  for (const KernelLevel level : SupportedKernelLevels()) {
    EXPECT_THAT(RunLast(b.network, {{5, 6}}, level), ElementsAre(14, 18, 27, 20, 25, 10));
  }
}

TEST(ResizeLinear, FormsAgreeAndRoundOnce) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    NetworkBuilder b(seed);
    const int x = b.Input({1, b.random.Int(1, 8), b.random.Int(1, 8), b.random.Int(1, 20)}, SomeType(b));
    b.RandomResizeLinear(x);
    ExpectFormsAgree(b);
  }
  NetworkBuilder b(1);
  const int x = b.Input({1, 2, 2, 1});
  ResizeLinearParams p;
  p.fraction_bits = 1;
  p.rows = {{0}, {1}, {1}};
  p.columns = {{0, 0}, {1, 1}, {1, 0}};
  b.Layer({x}, {1, 1, 2, 1}, p);
  b.network.tensors[0].zero_point = b.network.tensors[1].zero_point = 0;
  // (1 + 2 + 3 + 5) / 4 = 2.75; (1 + 3) / 2.
  EXPECT_THAT(RunLast(b.network, {{1, 2, 3, 5}}, BestKernelLevel()), ElementsAre(3, 2));
}

TEST(PRelu, HasASlopeForEachChannel) {
  NetworkBuilder b(1);
  const int x = b.Input({2, 3});
  PReluParams p;
  p.positive = *RequantFromMultiplier(1);
  p.negative = {*RequantFromMultiplier(0.5), *RequantFromMultiplier(0), *RequantFromMultiplier(0.25)};
  p.negate = {0, 0, 1};
  b.Layer({x}, {2, 3}, p);
  b.network.tensors[0].zero_point = 2;
  b.network.tensors[1].zero_point = -5;
  // Real 8 and -8 in each channel; -5 + 8, -5 - 4, -5, and -5 + 2.
  EXPECT_THAT(RunLast(b.network, {{10, 10, 10, -6, -6, -6}}, BestKernelLevel()),
              ElementsAre(3, 3, 3, -9, -5, -3));
  p.negative.pop_back();
  b.network.layers[0].params = p;
  EXPECT_THAT(ValidateNetwork(b.network),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 rescalings")));
}

TEST(ConvTapSums, TakeSixteenBitInputs) {
  NetworkBuilder b(9);
  const int x = b.Input({1, 5, 5, 6}, DType::kInt16);
  ConvParams p;
  p.kernel_h = p.kernel_w = 3;
  p.pad_top = 1;
  b.Conv(x, p, 2);
  b.Widen(16, DType::kInt16);
  const Bytes input = RandomCodes(b, x);
  const std::vector<int64_t> sums =
      ConvAccumulatorSums(b.network.layers[0], b.network, input.data());
  // The sum of all results without rounding: scale 1 has no 16-bit codes, so add by hand.
  const ConvParams& conv = std::get<ConvParams>(b.network.layers[0].params);
  const TensorInfo& y = b.info(b.network.layers[0].output);
  std::vector<int16_t> codes(150);
  std::memcpy(codes.data(), input.data(), 300);
  for (int64_t m = 0; m < 2; ++m) {
    int64_t sum = 0;
    for (int64_t oy = 0; oy < y.shape[1]; ++oy) {
      for (int64_t ox = 0; ox < y.shape[2]; ++ox) {
        sum += conv.bias_of(m);
        for (int64_t tap = 0; tap < 9; ++tap) {
          const int64_t iy = oy - 1 + tap / 3;
          for (int64_t c = 0; iy >= 0 && c < 6; ++c) {
            sum += int64_t{codes[static_cast<size_t>((iy * 5 + ox + tap % 3) * 6 + c)]} *
                   conv.weight((m * 9 + tap) * 6 + c);
          }
        }
      }
    }
    EXPECT_EQ(sums[static_cast<size_t>(m)], sum);
  }
}

// Row by row against the real function.
void ExpectSoftmax(DType from, DType to) {
  NetworkBuilder b(11);
  const int x = b.Input({6, 40}, from);
  const double step = from == DType::kInt16 ? 12.0 / 32767 : 12.0 / 128;
  b.network.tensors[static_cast<size_t>(x)].scale = static_cast<float>(step);
  SoftmaxParams p{from == DType::kInt16 ? WideSoftmaxExpTable(step) : SoftmaxExpTable(step)};
  const int y = b.Layer({x}, {6, 40}, p);
  TensorInfo& info = b.network.tensors[static_cast<size_t>(y)];
  info.dtype = to;
  info.scale = to == DType::kInt16 ? 1.0f / 32768 : 1.0f / 256;
  info.zero_point = to == DType::kInt16 ? 0 : -128;
  const Bytes codes = RandomCodes(b, x);
  const Bytes result = RunLast(b.network, {codes}, BestKernelLevel());
  for (size_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (size_t i = row * 40; i < row * 40 + 40; ++i) {
      sum += std::exp(CodeAt(codes, from, i) * step);
    }
    for (size_t i = row * 40; i < row * 40 + 40; ++i) {
      const double real = std::exp(CodeAt(codes, from, i) * step) / sum;
      const double got = (CodeAt(result, to, i) - info.zero_point) * double{info.scale};
      EXPECT_NEAR(got, std::min(real, 1 - double{info.scale}), 0.52 * double{info.scale} + 0x1p-16)
          << DTypeName(from) << " to " << DTypeName(to);
    }
  }
}

TEST(WideSoftmax, IsWithinOneCodeOfTheRealFunction) {
  for (const DType from : {DType::kInt8, DType::kInt16}) {
    for (const DType to : {DType::kInt8, DType::kInt16}) {
      ExpectSoftmax(from, to);
    }
  }
}

}  // namespace
}  // namespace qb::integer

// Random layers and networks for tests of core/integer and core/npu.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/integer/network.h"
#include "core/integer/requant.h"
#include "core/integer/tables.h"

namespace qb::integer::testing {

// A seeded source with the same numbers on every standard library (std distributions differ).
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // In [low, high].
  int64_t Int(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool Chance(int percent) { return Int(1, 100) <= percent; }
  double Real(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1.0p-53);
  }
  std::vector<int8_t> Codes(int64_t count, int64_t low = -128, int64_t high = 127) {
    std::vector<int8_t> codes(static_cast<size_t>(count));
    for (int8_t& code : codes) {
      code = static_cast<int8_t>(Int(low, high));
    }
    return codes;
  }
  // Little-endian int16.
  std::vector<int8_t> Codes16(int64_t count, int64_t low = -32767, int64_t high = 32767) {
    std::vector<int8_t> bytes;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t code = Int(low, high);
      bytes.push_back(static_cast<int8_t>(code & 0xff));
      bytes.push_back(static_cast<int8_t>(code >> 8));
    }
    return bytes;
  }

 private:
  std::mt19937_64 engine_;
};

// Builds a network layer by layer; methods return tensor numbers.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(uint64_t seed) : random(seed) { network.name = "random"; }

  int Tensor(Shape shape, DType dtype = DType::kInt8) {
    TensorInfo info;
    info.name = "t" + std::to_string(network.tensors.size());
    info.dtype = dtype;
    info.shape = std::move(shape);
    if (dtype == DType::kInt8) {
      info.scale = static_cast<float>(random.Real(0.01, 0.1));
      info.zero_point = static_cast<int32_t>(random.Chance(30) ? -128 : random.Int(-20, 20));
    } else if (dtype == DType::kInt16) {
      info.scale = static_cast<float>(random.Real(0.0001, 0.001));
    }
    network.tensors.push_back(std::move(info));
    return static_cast<int>(network.tensors.size()) - 1;
  }
  int Input(Shape shape, DType dtype = DType::kInt8) {
    network.inputs.push_back(Tensor(std::move(shape), dtype));
    return network.inputs.back();
  }
  void Output(int tensor) { network.outputs.push_back(tensor); }
  const Shape& shape(int tensor) const { return info(tensor).shape; }
  const TensorInfo& info(int tensor) const { return network.tensors[static_cast<size_t>(tensor)]; }
  int Layer(std::vector<int> inputs, Shape output, LayerParams params, DType dtype = DType::kInt8) {
    const int y = Tensor(std::move(output), dtype);
    network.layers.push_back(
        {"l" + std::to_string(network.layers.size()), std::move(inputs), y, std::move(params)});
    return y;
  }

  // A requantization that keeps sums of `count` products within a few codes of the int8 range.
  Requant SomeRequant(double magnitude) {
    return *RequantFromMultiplier(random.Real(20.0, 200.0) / magnitude);
  }

  // Fills weights, bias and tables. Geometry is set by the caller.
  int Conv(int x, ConvParams p, int64_t out_channels) {
    const Shape& in = shape(x);
    const int64_t in_h = in[1] + p.pad_top + p.pad_bottom;
    const int64_t in_w = in[2] + p.pad_left + p.pad_right;
    const int64_t out_h = (in_h - (p.kernel_h - 1) * p.dilation_h - 1) / p.stride_h + 1;
    const int64_t out_w = (in_w - (p.kernel_w - 1) * p.dilation_w - 1) / p.stride_w + 1;
    const int64_t length = p.kernel_h * p.kernel_w * in[3] / p.groups;
    p.weights = random.Codes(length * out_channels, -127, 127);
    for (int64_t m = 0; m < out_channels; ++m) {
      p.bias.push_back(static_cast<int32_t>(random.Int(-5000, 5000)));
      p.weight_scales.push_back(0.01f);
      p.requant.push_back(SomeRequant(5000.0 * static_cast<double>(length) / 10 + 100));
    }
    if (random.Chance(40)) {
      p.clamp_min = static_cast<int32_t>(random.Int(-128, 0));
      p.clamp_max = static_cast<int32_t>(random.Int(1, 127));
    }
    return Layer({x}, {1, out_h, out_w, out_channels}, std::move(p));
  }
  int RandomConv(int x) {
    const Shape in = shape(x);
    ConvParams p;
    p.kernel_h = random.Int(1, std::min<int64_t>(4, in[1]));
    p.kernel_w = random.Int(1, std::min<int64_t>(4, in[2]));
    p.stride_h = random.Int(1, 3);
    p.stride_w = random.Int(1, 3);
    p.dilation_h = (p.kernel_h - 1) * 2 + 1 <= in[1] && random.Chance(30) ? 2 : 1;
    p.dilation_w = (p.kernel_w - 1) * 2 + 1 <= in[2] && random.Chance(30) ? 2 : 1;
    p.pad_top = random.Int(0, 2);
    p.pad_bottom = random.Int(0, 2);
    p.pad_left = random.Int(0, 2);
    p.pad_right = random.Int(0, 2);
    int64_t out_channels = random.Int(1, 70);
    const int64_t form = random.Int(0, 9);
    if (form < 3) {
      p.groups = in[3];
      out_channels = in[3] * (form == 0 ? 2 : 1);
    } else if (form < 5 && in[3] % 2 == 0) {
      p.groups = 2;
      out_channels = 2 * random.Int(1, 20);
    }
    return Conv(x, std::move(p), out_channels);
  }
  // Makes the last layer, a convolution, one of other widths: of its weights, and of its result.
  void Widen(int32_t weight_bits, DType output) {
    const integer::Layer& layer = network.layers.back();
    const bool transposed = std::holds_alternative<ConvTransposeParams>(layer.params);
    ConvParams& p = transposed ? std::get<ConvTransposeParams>(network.layers.back().params).conv
                               : std::get<ConvParams>(network.layers.back().params);
    TensorInfo& y = network.tensors[static_cast<size_t>(layer.output)];
    y.dtype = output;
    double factor = 1;
    if (output == DType::kInt16) {
      y.zero_point = 0;
      p.clamp_min = random.Chance(30) ? 0 : -32767;
      p.clamp_max = 32767;
      factor *= 256;
    }
    p.weight_bits = weight_bits;
    for (int8_t& weight : p.weights) {
      if (weight_bits == 16) {
        p.weights16.push_back(static_cast<int16_t>(random.Int(-32768, 32639)));
      } else if (weight_bits == 4) {
        weight = static_cast<int8_t>(random.Int(-7, 7));
      }
    }
    if (weight_bits == 16) {
      p.weights.clear();
    }
    const bool wide_input = info(layer.inputs[0]).dtype == DType::kInt16;
    factor /=
        (weight_bits == 16 ? 256 : (weight_bits == 4 ? 1.0 / 16 : 1)) * (wide_input ? 256 : 1);
    for (Requant& requant : p.requant) {
      requant = *RequantFromMultiplier(MultiplierOf(requant) * factor);
    }
    if (wide_input || weight_bits == 16) {
      for (const int32_t bias : p.bias) {
        p.wide_bias.push_back(int64_t{bias} * random.Int(1, 100000));
      }
      p.bias.clear();
    }
  }
  int RandomConvTranspose(int x) {
    const Shape in = shape(x);
    ConvTransposeParams p;
    ConvParams& c = p.conv;
    c.kernel_h = random.Int(1, 4);
    c.kernel_w = random.Int(1, 4);
    c.stride_h = random.Int(1, 3);
    c.stride_w = random.Int(1, 3);
    c.dilation_h = random.Int(1, 2);
    c.dilation_w = random.Int(1, 2);
    const int64_t reach_h = (c.kernel_h - 1) * c.dilation_h;
    const int64_t reach_w = (c.kernel_w - 1) * c.dilation_w;
    // Small enough that a result remains.
    c.pad_top = random.Int(0, std::min<int64_t>(1, reach_h / 2));
    c.pad_bottom = random.Int(0, std::min<int64_t>(1, reach_h / 2));
    c.pad_left = random.Int(0, std::min<int64_t>(1, reach_w / 2));
    c.pad_right = random.Int(0, std::min<int64_t>(1, reach_w / 2));
    p.output_pad_h = random.Int(0, c.stride_h - 1);
    p.output_pad_w = random.Int(0, c.stride_w - 1);
    int64_t out_channels = random.Int(1, 20);
    if (random.Chance(30)) {
      c.groups = in[3];
      out_channels = in[3];
    }
    const int64_t length = c.kernel_h * c.kernel_w * in[3] / c.groups;
    c.weights = random.Codes(length * out_channels, -127, 127);
    for (int64_t m = 0; m < out_channels; ++m) {
      c.bias.push_back(static_cast<int32_t>(random.Int(-5000, 5000)));
      c.requant.push_back(SomeRequant(5000.0 * static_cast<double>(length) / 10 + 100));
    }
    const int64_t out_h =
        (in[1] - 1) * c.stride_h + reach_h + 1 + p.output_pad_h - c.pad_top - c.pad_bottom;
    const int64_t out_w =
        (in[2] - 1) * c.stride_w + reach_w + 1 + p.output_pad_w - c.pad_left - c.pad_right;
    return Layer({x}, {1, out_h, out_w, out_channels}, std::move(p));
  }
  LinearAxis RandomAxis(int64_t extent, int64_t places, int32_t bits) {
    LinearAxis axis;
    for (int64_t i = 0; i < places; ++i) {
      const int64_t low = random.Int(0, extent - 1);
      axis.low.push_back(static_cast<int32_t>(low));
      axis.high.push_back(static_cast<int32_t>(std::min(low + 1, extent - 1)));
      axis.fraction.push_back(static_cast<int32_t>(random.Int(0, int64_t{1} << bits)));
    }
    return axis;
  }
  int RandomResizeLinear(int x) {
    const Shape in = shape(x);
    ResizeLinearParams p;
    p.fraction_bits = static_cast<int32_t>(random.Chance(50) ? 14 : random.Int(1, 15));
    const int64_t rows = std::min<int64_t>(16, random.Int(1, 2 * in[1]));
    const int64_t columns = std::min<int64_t>(16, random.Int(1, 2 * in[2]));
    p.rows = RandomAxis(in[1], rows, p.fraction_bits);
    p.columns = RandomAxis(in[2], columns, p.fraction_bits);
    const int y = Layer({x}, {1, rows, columns, in[3]}, std::move(p), info(x).dtype);
    network.tensors[static_cast<size_t>(y)].zero_point = info(x).zero_point;
    network.tensors[static_cast<size_t>(y)].scale = info(x).scale;
    return y;
  }
  NormalizationParams RandomNormalization(int64_t length) {
    NormalizationParams p;
    p.centered = random.Chance(70);
    p.epsilon = static_cast<int32_t>(random.Int(0, 1 << 20));
    p.epsilon_shift = static_cast<int32_t>(random.Int(0, 40));
    p.shift = 26;
    for (int64_t i = 0; i < length; ++i) {
      p.scale.push_back(static_cast<int32_t>(random.Int(-(1 << 30), 1 << 30)));
      p.bias.push_back(random.Int(-(int64_t{1} << 30), int64_t{1} << 30));
    }
    return p;
  }
  int RandomPRelu(int x) {
    PReluParams p;
    p.positive = *RequantFromMultiplier(random.Real(0.5, 1.5));
    const int64_t channels = random.Chance(30) ? 1 : shape(x)[shape(x).rank() - 1];
    for (int64_t c = 0; c < channels; ++c) {
      p.negative.push_back(*RequantFromMultiplier(random.Real(0, 0.5)));
      p.negate.push_back(random.Chance(30) ? 1 : 0);
    }
    return Layer({x}, shape(x), std::move(p));
  }
  int RandomPool(int x) {
    const Shape in = shape(x);
    PoolParams p;
    p.is_max = random.Chance(50);
    p.kernel_h = random.Int(1, std::min<int64_t>(3, in[1]));
    p.kernel_w = random.Int(1, std::min<int64_t>(3, in[2]));
    p.stride_h = random.Int(1, 2);
    p.stride_w = random.Int(1, 2);
    p.pad_top = random.Int(0, p.kernel_h - 1);
    p.pad_bottom = random.Int(0, p.kernel_h - 1);
    p.pad_left = random.Int(0, p.kernel_w - 1);
    p.pad_right = random.Int(0, p.kernel_w - 1);
    p.count_include_pad = random.Chance(50);
    const bool ceil = random.Chance(50);
    if (!p.is_max) {
      for (int64_t n = 0; n <= p.kernel_h * p.kernel_w; ++n) {
        p.requant_by_count.push_back(
            *RequantFromMultiplier(n == 0 ? 0.0 : 1.3 / static_cast<double>(n)));
      }
    }
    const int64_t out_h =
        PoolExtent(in[1], {p.pad_top, p.pad_bottom}, p.kernel_h, p.stride_h, ceil);
    const int64_t out_w =
        PoolExtent(in[2], {p.pad_left, p.pad_right}, p.kernel_w, p.stride_w, ceil);
    return Layer({x}, {1, out_h, out_w, in[3]}, std::move(p));
  }
  int Eltwise(int a, int b, EltwiseKind kind) {
    EltwiseParams p;
    p.kind = kind;
    const AddScaling scaling = *AddScalingFromRatios(random.Real(0.1, 2.0), random.Real(0.1, 2.0));
    p.multiplier_a = scaling.multiplier_a;
    p.multiplier_b = scaling.multiplier_b;
    p.shift = scaling.shift;
    p.mul_requant = *RequantFromMultiplier(random.Real(0.001, 0.1));
    p.clamp_min = random.Chance(30) ? info(a).zero_point : -128;
    return Layer({a, b}, *BroadcastShapes(shape(a), shape(b)), p);
  }
  int Lut(int x) {
    LutParams p;
    if (info(x).dtype == DType::kInt16) {
      for (size_t i = 0; i < kLookupKnots; ++i) {
        p.knots.push_back(static_cast<int16_t>(random.Int(-kMostKnot, kMostKnot)));
      }
      const int64_t channels = random.Chance(50) ? shape(x)[shape(x).rank() - 1] : 1;
      for (int64_t c = 0; c < channels; ++c) {
        p.requant.push_back(*RequantFromMultiplier(random.Real(1e-5, 1e-4)));
      }
      return Layer({x}, shape(x), std::move(p));
    }
    p.table = random.Codes(256);
    return Layer({x}, shape(x), std::move(p));
  }

  struct Padding {
    int64_t begin, end;
  };
  static int64_t PoolExtent(int64_t in, const Padding& padding, int64_t kernel, int64_t stride,
                            bool ceil) {
    const int64_t free = in + padding.begin + padding.end - kernel;
    int64_t places = free / stride + 1;
    if (ceil && free % stride != 0 && places * stride < in + padding.begin) {
      ++places;
    }
    return places;
  }

  Random random;
  Network network;
};

}  // namespace qb::integer::testing

// Random layers and networks for tests of core/integer and core/npu.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/integer/network.h"
#include "core/integer/requant.h"

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
  const TensorInfo& info(int tensor) const {
    return network.tensors[static_cast<size_t>(tensor)];
  }
  int Layer(std::vector<int> inputs, Shape output, LayerParams params,
            DType dtype = DType::kInt8) {
    const int y = Tensor(std::move(output), dtype);
    network.layers.push_back({"l" + std::to_string(network.layers.size()), std::move(inputs), y,
                              std::move(params)});
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
    const int64_t out_h = PoolExtent(in[1], p.pad_top, p.pad_bottom, p.kernel_h, p.stride_h, ceil);
    const int64_t out_w = PoolExtent(in[2], p.pad_left, p.pad_right, p.kernel_w, p.stride_w, ceil);
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
    p.table = random.Codes(256);
    return Layer({x}, shape(x), std::move(p));
  }

  static int64_t PoolExtent(int64_t in, int64_t begin, int64_t end, int64_t kernel, int64_t stride,
                            bool ceil) {
    const int64_t free = in + begin + end - kernel;
    int64_t places = free / stride + 1;
    if (ceil && free % stride != 0 && places * stride < in + begin) {
      ++places;
    }
    return places;
  }

  Random random;
  Network network;
};

}  // namespace qb::integer::testing

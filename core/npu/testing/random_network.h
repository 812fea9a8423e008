// Random whole networks: branches, constants, dead ends, every layer kind.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/integer/tables.h"
#include "core/integer/testing/random_network.h"

namespace qb::npu::testing {

// Grows a network from a float image; tensors are int8 NHWC inside.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint64_t seed) : b_(seed) {}

  integer::Network Make(int layers) {
    const int input = b_.Input({1, b_.random.Int(2, 3), b_.random.Int(6, 12), b_.random.Int(6, 12)},
                               DType::kFloat32);
    const int codes = b_.Layer({input}, b_.shape(input), integer::QuantizeParams{});
    values_.push_back(Transpose(codes, {0, 2, 3, 1}));
    for (int i = 0; i < layers; ++i) {
      Grow();
    }
    const int outputs = static_cast<int>(b_.random.Int(1, 3));
    for (int i = 0; i < outputs; ++i) {
      Finish(i == 0 ? values_.back() : Some());
    }
    return std::move(b_.network);
  }

 private:
  int Some() {
    // Mostly recent values, sometimes any: long lives are what memory planning is about.
    const int64_t count = static_cast<int64_t>(values_.size());
    const int64_t first = b_.random.Chance(70) ? std::max<int64_t>(0, count - 3) : 0;
    return values_[static_cast<size_t>(b_.random.Int(first, count - 1))];
  }

  int Transpose(int x, std::vector<int64_t> axes) {
    std::vector<int64_t> dims;
    dims.reserve(axes.size());
    for (const int64_t axis : axes) {
      dims.push_back(b_.shape(x)[axis]);
    }
    return b_.Layer({x}, Shape(dims), integer::TransposeParams{std::move(axes)});
  }

  int Constant(const Shape& shape) {
    const int tensor = b_.Tensor(shape);
    const std::vector<int8_t> codes = b_.random.Codes(shape.elements());
    b_.network.constants.push_back({tensor, std::vector<uint8_t>(codes.begin(), codes.end())});
    return tensor;
  }

  int Softmax(int x) {
    const int y =
        b_.Layer({x}, b_.shape(x), integer::SoftmaxParams{integer::SoftmaxExpTable(0.05)});
    b_.network.tensors[static_cast<size_t>(y)].scale = 1.0f / 256;
    b_.network.tensors[static_cast<size_t>(y)].zero_point = -128;
    return y;
  }

  // Over the channels, or over rows of them.
  int Normalization(int x) {
    const Shape& shape = b_.shape(x);
    const int64_t length = b_.random.Chance(70) ? shape[3] : shape[2] * shape[3];
    return b_.Layer({x}, shape, b_.RandomNormalization(length));
  }

  int Concat(int x, int other) {
    integer::ConcatParams p;
    p.axis = 3;
    p.requant = {*integer::RequantFromMultiplier(0.9), integer::Requant{}};
    p.same_scale = {0, 1};
    Shape shape = b_.shape(x);
    shape[3] += b_.shape(other)[3];
    return b_.Layer({x, other}, shape, std::move(p));
  }

  int MatMul(int x) {
    const Shape shape = b_.shape(x);
    integer::MatMulParams p;
    p.requant = b_.SomeRequant(5000.0 * static_cast<double>(shape[3]));
    const int y =
        b_.Layer({x}, {1, shape[1], shape[3], shape[2]}, integer::TransposeParams{{0, 1, 3, 2}});
    return b_.Layer({x, y}, {1, shape[1], shape[2], shape[2]}, p);
  }

  int Move(int x) {
    const Shape shape = b_.shape(x);
    switch (b_.random.Int(0, 5)) {
      case 0: {
        integer::SliceParams p{{0, 0, 0, 0}, {1, 1, 1, 1}};
        p.start[2] = shape[2] - 1;
        p.step[2] = -1;
        return b_.Layer({x}, shape, std::move(p));
      }
      case 1: {
        Shape out = shape;
        out[1] += 2;
        out[2] += 1;
        return b_.Layer({x}, out, integer::PadParams{{0, 1, 0, 0}, b_.info(x).zero_point});
      }
      case 2:
        return Transpose(x, {0, 2, 1, 3});
      case 3:
        return b_.Layer({x}, {1, shape[2], shape[1], shape[3]}, integer::ReshapeParams{});
      case 4: {
        integer::ResizeNearestParams p;
        for (int64_t i = 0; i < std::min<int64_t>(16, 2 * shape[1]); ++i) {
          p.row_index.push_back(static_cast<int32_t>(i % shape[1]));
        }
        p.column_index = {0, 0, static_cast<int32_t>(shape[2] - 1)};
        const Shape out = {1, static_cast<int64_t>(p.row_index.size()), 3, shape[3]};
        return b_.Layer({x}, out, std::move(p));
      }
      default:
        if (shape[3] % 4 != 0) {
          return b_.Lut(x);
        }
        return b_.Layer({x}, {1, shape[1] * 2, shape[2] * 2, shape[3] / 4},
                        integer::DepthToSpaceParams{2, b_.random.Chance(50)});
    }
  }

  int Reduce(int x) {
    integer::ReduceParams p;
    p.axes = {1, 2};
    p.requant =
        *integer::RequantFromMultiplier(1.0 / static_cast<double>(b_.shape(x)[1] * b_.shape(x)[2]));
    return b_.Layer({x}, {1, 1, 1, b_.shape(x)[3]}, std::move(p));
  }

  // Through 16 bits and back.
  int WideConv(int x) {
    const int wide =
        b_.Layer({x}, b_.shape(x), integer::RequantParams{*integer::RequantFromMultiplier(200)},
                 DType::kInt16);
    const int y = b_.RandomConv(wide);
    const int32_t widths[] = {4, 8, 16};
    b_.Widen(widths[b_.random.Int(0, 2)], DType::kInt16);
    if (b_.random.Chance(50)) {
      return b_.Lut(y);
    }
    return b_.Layer({y}, b_.shape(y),
                    integer::RequantParams{*integer::RequantFromMultiplier(0.004)});
  }

  void Grow() {
    const int x = Some();
    const int64_t kind = b_.random.Int(0, 16);
    int y = x;
    if (kind < 3) {
      y = b_.RandomConv(x);
    } else if (kind == 3) {
      y = b_.RandomPool(x);
    } else if (kind == 4) {
      y = b_.Lut(x);
    } else if (kind == 5) {
      y = b_.Layer({x}, b_.shape(x), integer::RequantParams{*integer::RequantFromMultiplier(1.2)});
    } else if (kind == 6) {
      y = Softmax(x);
    } else if (kind == 7) {
      y = Concat(x, Constant({1, b_.shape(x)[1], b_.shape(x)[2], 3}));
    } else if (kind == 8) {
      y = b_.Eltwise(x, b_.random.Chance(50) ? Constant({b_.shape(x)[3]}) : Reduce(x),
                     integer::EltwiseKind::kMul);
    } else if (kind == 9) {
      y = b_.Eltwise(b_.Lut(x), x, integer::EltwiseKind::kAdd);
    } else if (kind == 10 && b_.shape(x)[1] * b_.shape(x)[2] < 400) {
      y = MatMul(x);
    } else if (kind == 12) {
      y = WideConv(x);
    } else if (kind == 13 && b_.shape(x)[1] * b_.shape(x)[2] < 150) {
      y = b_.RandomConvTranspose(x);
    } else if (kind == 14) {
      y = b_.RandomResizeLinear(x);
    } else if (kind == 15) {
      y = b_.RandomPRelu(x);
    } else if (kind == 16) {
      y = Normalization(x);
    } else {
      y = Move(x);
    }
    values_.push_back(y);
  }

  void Finish(int value) {
    if (b_.info(value).dtype == DType::kInt8 && b_.random.Chance(50)) {
      StepsByChannel(b_.random.Int(0, b_.shape(value).rank() - 1),
                     b_.network.tensors[static_cast<size_t>(value)]);
    }
    b_.Output(b_.Layer({value}, b_.shape(value), integer::DequantizeParams{}, DType::kFloat32));
  }

  // Codes of an output with steps and zero points of their own along `axis`.
  void StepsByChannel(int64_t axis, integer::TensorInfo& info) {
    if (!info.channel_factors.empty()) {
      return;  // an output twice
    }
    info.channel_axis = axis;
    for (int64_t i = 0; i < info.shape[axis]; ++i) {
      info.channel_factors.push_back(1.0f / static_cast<float>(b_.random.Int(1, 64)));
      info.channel_zero_points.push_back(static_cast<int32_t>(b_.random.Int(-128, 127)));
    }
  }

  integer::testing::NetworkBuilder b_;
  std::vector<int> values_;
};

inline integer::Network MakeRandomNetwork(uint64_t seed, int layers) {
  return RandomNetwork(seed).Make(layers);
}

}  // namespace qb::npu::testing

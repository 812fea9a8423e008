// A quantized network in plain integer terms: what quantization produces, what npu schedules and
// serializes, and what the simulator and bias correction execute. Exactly the arithmetic of
// docs/numerics.md; nothing here is ever computed in floating point but quantize/dequantize at the
// border.
//
// Tensors are NHWC (rank 4, batch 1) or of any rank where only elementwise work touches them. Codes
// are int8; int16 codes are symmetric (zero point 0, in [-32767, 32767]) and enter and leave by
// convolution, matrix product, elementwise, softmax, normalization, Requant, Quantize, Dequantize and
// the layers that move elements.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/ir/dtype.h"
#include "core/ir/shape.h"

namespace qb::integer {

// real = scale * (code - zero_point), times channel_factors[i] along one axis where there are any. Of
// a float tensor (at the border): scale 1, zero point 0.
struct TensorInfo {
  std::string name;  // the graph node it stands for
  DType dtype = DType::kInt8;
  Shape shape;
  float scale = 1.0f;
  int32_t zero_point = 0;
  // For readers of codes; of the layers, only Dequantize looks at them: those that write and read
  // such a tensor have the factors in their weights and multipliers.
  std::vector<float> channel_factors;
  // The zero point of each channel, in place of zero_point; empty: that one for all. Only with
  // factors, and only of values that nothing but movement and Dequantize reads.
  std::vector<int32_t> channel_zero_points;
  int64_t channel_axis = -1;  // of both; -1: the last one

  int64_t size_bytes() const { return shape.elements() * SizeBytes(dtype); }
};

// code = clamp(zero_point + RNE(acc * mantissa / 2^shift)); mantissa in [0, 2^31), shift in [1, 62];
// round half to even, int64 product, one rounding.
struct Requant {
  int32_t mantissa = 0;
  int32_t shift = 1;
};

// Convolution (plain, grouped, depthwise) and fully connected layers (1x1 kernel).
// acc[m] = bias[m] + sum (x - input zero point) * w; padding contributes real zero.
// Weights OHWI = [M, Kh, Kw, C / groups]: 4 bit in [-7, 7] and 8 bit in [-127, 127] in `weights`,
// 16 bit in [-32768, 32639] in `weights16`; the other vector is empty. requant has M entries, and so
// has the bias: `wide_bias` where IsWide, else `bias`; the other is empty.
struct ConvParams {
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  int64_t groups = 1;
  int32_t weight_bits = 8;  // 4, 8, 16
  std::vector<int8_t> weights;
  std::vector<int16_t> weights16;
  std::vector<float> weight_scales;  // [M]; documentation and export only, never arithmetic
  std::vector<int32_t> bias;
  std::vector<int64_t> wide_bias;
  std::vector<Requant> requant;
  int32_t clamp_min = -128, clamp_max = 127;  // codes; a fused Relu or Clip narrows them

  int64_t weight_count() const {
    return static_cast<int64_t>(weight_bits == 16 ? weights16.size() : weights.size());
  }
  int32_t weight(int64_t index) const {
    const size_t at = static_cast<size_t>(index);
    return weight_bits == 16 ? int32_t{weights16[at]} : int32_t{weights[at]};
  }
  int64_t bias_of(int64_t channel) const {
    const size_t at = static_cast<size_t>(channel);
    return wide_bias.empty() ? int64_t{bias[at]} : wide_bias[at];
  }
  // Precondition: it fits where it is kept.
  void set_bias(int64_t channel, int64_t value) {
    const size_t at = static_cast<size_t>(channel);
    if (wide_bias.empty()) {
      bias[at] = static_cast<int32_t>(value);
    } else {
      wide_bias[at] = value;
    }
  }
};

// Whether sums are 64-bit: 16-bit input or weights.
inline bool IsWide(const ConvParams& conv, const TensorInfo& input) {
  return input.dtype == DType::kInt16 || conv.weight_bits == 16;
}

// The same turned around: input pixel (iy, ix) and tap (ky, kx) add to the result at
// (iy stride_h + ky dilation_h - pad_top, ix stride_w + kx dilation_w - pad_left). The result has
// (in - 1) stride + dilation (kernel - 1) + 1 + output_pad - pads rows and columns. Weights lie as in
// a convolution: [M, Kh, Kw, C / groups], M result channels, taps not flipped.
struct ConvTransposeParams {
  ConvParams conv;
  int64_t output_pad_h = 0, output_pad_w = 0;  // below and to the right
};

// Product of two activations: a [.., M, K] times b [.., K, N]; leading dimensions equal or 1.
struct MatMulParams {
  Requant requant;
  int32_t clamp_min = -128, clamp_max = 127;
};

enum class EltwiseKind : uint8_t { kAdd, kSub, kMul };

// Add, Sub: code = clamp(zp + RNE(((a - zp_a) * multiplier_a +- (b - zp_b) * multiplier_b) / 2^shift)),
// multiplier = round(s_x / s_y * 2^shift) in int64. Mul: code = clamp(zp + RNE((a - zp_a)(b - zp_b) M / 2^s)).
// NumPy broadcasting. A constant operand is a constant tensor of the network.
struct EltwiseParams {
  EltwiseKind kind = EltwiseKind::kAdd;
  int64_t multiplier_a = 0, multiplier_b = 0;
  int32_t shift = 16;
  Requant mul_requant;
  int32_t clamp_min = -128, clamp_max = 127;
};

// Max: input and output share scale and zero point; padding never wins. Average: int32 sum of
// (x - zp), then requant_by_count[n] for a window of n counted elements (index 0 unused).
struct PoolParams {
  bool is_max = true;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  bool count_include_pad = false;
  std::vector<Requant> requant_by_count;  // average only
  int32_t clamp_min = -128, clamp_max = 127;
};

// Mean over `axes` with kept dimensions: sum of (x - zp), requant by M(1 / n * s_x / s_y). Also sums
// (requant without 1 / n). Global average pooling is a mean over axes 1, 2.
struct ReduceParams {
  std::vector<int64_t> axes;
  Requant requant;
  int32_t clamp_min = -128, clamp_max = 127;
};

// Of an int8 input: code_y = table[code_x + 128], int8.
// Of an int16 input: 513 knots, 128 codes apart from -32768 on, magnitudes up to 2^14. With
// u = code_x + 32768, i = u >> 7 and f = u & 127, v = knots[i] * (128 - f) + knots[i + 1] * f and
// code_y = clamp(zp_y + RNE(v * mantissa / 2^shift)), int8 or int16. The rescaling is one for all, or
// one for each index of the last axis.
struct LutParams {
  std::vector<int8_t> table;   // 256 or none
  std::vector<int16_t> knots;  // none or 513
  std::vector<Requant> requant;
};

// Softmax over the last axis as docs/numerics.md says; exp table Q0.24 indexed by (max - x) in 0..255.
// Of an int16 input: 256 entries for the high byte of (max - x), then 256 for its low byte. The output
// has scale 1/256, or 1/32768 as int16.
struct SoftmaxParams {
  std::vector<int32_t> exp_table;  // 256 or 512
};

// Each run of N = scale.size() values, all of the last axes: code = clamp(zp_y + RNE((d / sqrt(v +
// epsilon * 2^(epsilon_shift - 32)) * scale[i] + bias[i]) / 2^shift)), where d is N (x - zp), less the
// run's sum where `centered`, and v the mean of d^2, as docs/numerics.md says to the last bit.
struct NormalizationParams {
  bool centered = true;       // layer normalization; false: RMS normalization
  int32_t epsilon = 0;        // >= 0
  int32_t epsilon_shift = 0;  // 0 to 95
  int32_t shift = 0;          // 0 to 40
  std::vector<int32_t> scale;
  std::vector<int64_t> bias;  // magnitudes below 2^47
};

// Parts along `axis`; each input is requantized to the output (identity when scales are equal).
struct ConcatParams {
  int64_t axis = 3;
  std::vector<Requant> requant;       // one an input
  std::vector<uint8_t> same_scale;    // one an input: 1 = codes are copied
};

// Between any two of int8 and int16.
struct RequantParams {
  Requant requant;
};

// x >= zero point: code = R(x - zp) with `positive`. Below it: with negative[channel], and the result
// negated (before the output's zero point is added) where negate[channel] is 1: a slope below zero.
// Channels are the last axis; one entry serves all.
struct PReluParams {
  Requant positive;
  std::vector<Requant> negative;
  std::vector<uint8_t> negate;
};

struct SliceParams {
  std::vector<int64_t> start, step;  // one per axis; the extent is the output's shape
};

struct PadParams {
  std::vector<int64_t> begin;  // one per axis, >= 0
  int32_t code = 0;            // the padding's code (constant mode)
};

struct TransposeParams {
  std::vector<int64_t> axes;
};

struct ReshapeParams {};  // a copy under another shape

// out[i] = in[index[i]] per spatial axis, precomputed from the resize attributes.
struct ResizeNearestParams {
  std::vector<int32_t> row_index, column_index;
};

// The result's place i along an axis lies between low[i] and high[i]: weights 2^bits - fraction[i]
// and fraction[i], in [0, 2^bits].
struct LinearAxis {
  std::vector<int32_t> low, high, fraction;
};
// code = zp + RNE(sum (x - zp) * row weight * column weight / 2^(2 bits)): one rounding. Input and
// output share scale and zero point.
struct ResizeLinearParams {
  int32_t fraction_bits = 14;  // 1 to 15
  LinearAxis rows, columns;
};

// NHWC [1, H, W, C] -> [1, H b, W b, C / b^2]. Source channel of (dy, dx, c): dcr (dy b + dx) C' + c,
// crd c b^2 + dy b + dx.
struct DepthToSpaceParams {
  int64_t block = 1;
  bool crd = false;
};

// Border of a float I/O target: float32 -> codes by RNE(x / scale) + zp with saturation, and back.
struct QuantizeParams {};
struct DequantizeParams {};

using LayerParams =
    std::variant<ConvParams, MatMulParams, EltwiseParams, PoolParams, ReduceParams, LutParams,
                 SoftmaxParams, ConcatParams, RequantParams, SliceParams, PadParams, TransposeParams,
                 ReshapeParams, ResizeNearestParams, DepthToSpaceParams, QuantizeParams,
                 DequantizeParams, ConvTransposeParams, ResizeLinearParams, PReluParams,
                 NormalizationParams>;

struct Layer {
  std::string name;         // the graph node that it computes (the last one of a fused chain)
  std::vector<int> inputs;  // indices into Network::tensors
  int output = -1;
  LayerParams params;
};

// A tensor whose value is part of the network (a constant operand of an elementwise layer).
struct ConstantTensor {
  int tensor = -1;
  std::vector<uint8_t> bytes;
};

// Layers are in execution order: operands before users.
struct Network {
  std::string name;
  std::vector<TensorInfo> tensors;
  std::vector<ConstantTensor> constants;
  std::vector<Layer> layers;
  std::vector<int> inputs, outputs;  // in the model's declared order; float32 for float borders
};

}  // namespace qb::integer

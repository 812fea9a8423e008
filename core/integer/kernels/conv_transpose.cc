// The packed form of a transposed convolution: a convolution with stride 1 and flipped taps over an
// image in which stride - 1 real zeros lie between the pixels.
#include "core/integer/kernels/conv_transpose.h"

#include <algorithm>

#include "core/integer/kernels/kernel_call.h"

namespace qb::integer {
namespace {

// Taps in reverse order, for each result channel.
template <typename T>
std::vector<T> Flip(const std::vector<T>& weights, int64_t taps, int64_t channels) {
  std::vector<T> flipped;
  flipped.reserve(weights.size());
  const int64_t filters = static_cast<int64_t>(weights.size()) / (taps * channels);
  for (int64_t m = 0; m < filters; ++m) {
    for (int64_t tap = taps - 1; tap >= 0; --tap) {
      const T* from = weights.data() + (m * taps + tap) * channels;
      flipped.insert(flipped.end(), from, from + channels);
    }
  }
  return flipped;
}

template <typename T>
void Stuff(const T* image, const Shape& shape, const ConvParams& conv, T zero, T* to) {
  const int64_t width = (shape[2] - 1) * conv.stride_w + 1;
  const int64_t height = (shape[1] - 1) * conv.stride_h + 1;
  std::fill(to, to + height * width * shape[3], zero);
  for (int64_t y = 0; y < shape[1]; ++y) {
    for (int64_t x = 0; x < shape[2]; ++x, image += shape[3]) {
      std::copy(image, image + shape[3],
                to + (y * conv.stride_h * width + x * conv.stride_w) * shape[3]);
    }
  }
}

}  // namespace

ConvParams StuffedGeometry(const ConvTransposeParams& p) {
  const ConvParams& conv = p.conv;
  ConvParams stuffed;
  stuffed.kernel_h = conv.kernel_h;
  stuffed.kernel_w = conv.kernel_w;
  stuffed.dilation_h = conv.dilation_h;
  stuffed.dilation_w = conv.dilation_w;
  stuffed.groups = conv.groups;
  const int64_t reach_h = conv.dilation_h * (conv.kernel_h - 1);
  const int64_t reach_w = conv.dilation_w * (conv.kernel_w - 1);
  stuffed.pad_top = reach_h - conv.pad_top;
  stuffed.pad_bottom = reach_h - conv.pad_bottom + p.output_pad_h;
  stuffed.pad_left = reach_w - conv.pad_left;
  stuffed.pad_right = reach_w - conv.pad_right + p.output_pad_w;
  return stuffed;
}

Shape StuffedShape(const ConvTransposeParams& p, const Shape& input) {
  return {1, (input[1] - 1) * p.conv.stride_h + 1, (input[2] - 1) * p.conv.stride_w + 1, input[3]};
}

std::unique_ptr<const PackedTranspose> PackConvTranspose(const Layer& layer, const Network& network,
                                                         KernelLevel level) {
  const ConvTransposeParams& p = std::get<ConvTransposeParams>(layer.params);
  auto packed = std::make_unique<PackedTranspose>();
  TensorInfo input = network.tensors[static_cast<size_t>(layer.inputs[0])];
  const int64_t group_in = input.shape[3] / p.conv.groups;
  input.shape = StuffedShape(p, input.shape);
  packed->network.tensors = {input, network.tensors[static_cast<size_t>(layer.output)]};
  ConvParams conv = StuffedGeometry(p);
  const int64_t taps = conv.kernel_h * conv.kernel_w;
  conv.weight_bits = p.conv.weight_bits;
  conv.weights = Flip(p.conv.weights, taps, group_in);
  conv.weights16 = Flip(p.conv.weights16, taps, group_in);
  conv.bias = p.conv.bias;
  conv.wide_bias = p.conv.wide_bias;
  conv.requant = p.conv.requant;
  conv.clamp_min = p.conv.clamp_min;
  conv.clamp_max = p.conv.clamp_max;
  packed->layer = {layer.name, {0}, 1, std::move(conv)};
  packed->conv = PackConv(packed->layer, packed->network, level);
  return packed;
}

void RunConvTransposePacked(const KernelCall& call, const PackedTranspose& packed) {
  const ConvParams& conv = call.params<ConvTransposeParams>().conv;
  const TensorInfo& x = call.input_tensor(0);
  void* image = call.scratch.Reserve(2, packed.network.tensors[0].size_bytes());
  if (x.dtype == DType::kInt16) {
    Stuff(call.input<int16_t>(0), x.shape, conv, int16_t{0}, static_cast<int16_t*>(image));
  } else {
    Stuff(call.input<int8_t>(0), x.shape, conv, static_cast<int8_t>(x.zero_point),
          static_cast<int8_t*>(image));
  }
  const void* const inputs[] = {image};
  const KernelCall inner{packed.layer, packed.network, inputs, call.output, call.level, call.scratch};
  RunConvPacked(inner, *packed.conv);
}

}  // namespace qb::integer

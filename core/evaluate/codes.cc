#include "core/evaluate/codes.h"

#include <algorithm>
#include <cmath>

#include "core/integer/element_steps.h"
#include "core/integer/requant.h"

namespace qb {
namespace {

template <typename Code>
void Quantize(const Tensor& real, const integer::TensorInfo& info, Code* codes) {
  const integer::ElementSteps steps(info);
  const float low = static_cast<float>(integer::LeastCode(info.dtype));
  const float high = static_cast<float>(integer::MostCode(info.dtype));
  const absl::Span<const float> values = real.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t channel = steps.ChannelOf(i);
    const float code = std::nearbyint(values[i] / steps.scale(channel));
    const float shifted = code + static_cast<float>(steps.zero_point(channel));
    codes[i] = static_cast<Code>(std::clamp(shifted, low, high));
  }
}

template <typename Code>
void Dequantize(const Code* codes, const integer::TensorInfo& info, Tensor& real) {
  const integer::ElementSteps steps(info);
  float* values = real.mutable_data<float>();
  for (size_t i = 0; i < static_cast<size_t>(real.elements()); ++i) {
    const size_t channel = steps.ChannelOf(i);
    values[i] = steps.scale(channel) *
                static_cast<float>(static_cast<int32_t>(codes[i]) - steps.zero_point(channel));
  }
}

}  // namespace

bool HoldsCodes(const integer::TensorInfo& info) {
  return info.dtype == DType::kInt8 || info.dtype == DType::kInt16;
}

Tensor QuantizeTensor(const Tensor& real, const integer::TensorInfo& info) {
  Tensor codes = Tensor::Allocate({info.dtype, info.shape});
  if (info.dtype == DType::kInt16) {
    Quantize(real, info, codes.mutable_data<int16_t>());
  } else {
    Quantize(real, info, codes.mutable_data<int8_t>());
  }
  return codes;
}

Tensor DequantizeTensor(const Tensor& codes, const integer::TensorInfo& info) {
  Tensor real = Tensor::Allocate({DType::kFloat32, info.shape});
  if (info.dtype == DType::kInt16) {
    Dequantize(codes.data<int16_t>(), info, real);
  } else {
    Dequantize(codes.data<int8_t>(), info, real);
  }
  return real;
}

}  // namespace qb

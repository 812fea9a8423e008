#include "core/evaluate/codes.h"

#include <algorithm>
#include <cmath>

#include "core/integer/requant.h"

namespace qb {
namespace {

// The step of each index of the last axis; one for all where there are no factors.
std::vector<float> StepsOf(const integer::TensorInfo& info) {
  std::vector<float> steps;
  for (const float factor : info.channel_factors) {
    steps.push_back(info.scale * factor);
  }
  if (steps.empty()) {
    steps.push_back(info.scale);
  }
  return steps;
}

template <typename Code>
void Quantize(const Tensor& real, const integer::TensorInfo& info, Code* codes) {
  const std::vector<float> steps = StepsOf(info);
  const float low = static_cast<float>(integer::LeastCode(info.dtype));
  const float high = static_cast<float>(integer::MostCode(info.dtype));
  const absl::Span<const float> values = real.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const float code = std::nearbyint(values[i] / steps[i % steps.size()]);
    const float shifted = code + static_cast<float>(info.zero_point);
    codes[i] = static_cast<Code>(std::clamp(shifted, low, high));
  }
}

template <typename Code>
void Dequantize(const Code* codes, const integer::TensorInfo& info, Tensor& real) {
  const std::vector<float> steps = StepsOf(info);
  float* values = real.mutable_data<float>();
  for (int64_t i = 0; i < real.elements(); ++i) {
    values[i] = steps[static_cast<size_t>(i) % steps.size()] *
                static_cast<float>(static_cast<int32_t>(codes[i]) - info.zero_point);
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

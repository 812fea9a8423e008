// Quantize and dequantize: the only floating-point arithmetic of a network.
#include <algorithm>

#include "core/integer/element_steps.h"
#include "core/integer/kernels/kernel_call.h"
#include "core/integer/kernels/wide.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

// code = clamp(zp + RNE(x / scale)), NaN = zp: one float32 division, then the nearest integer.
template <typename Code>
Code QuantizeOne(float x, float scale, int32_t zero_point) {
  constexpr DType kType = sizeof(Code) == 2 ? DType::kInt16 : DType::kInt8;
  constexpr float kMostSteps = sizeof(Code) == 2 ? 131072.0f : 1024.0f;
  // 1.5 * 2^23: adding it leaves no bits for a fraction, so the addition rounds half to even.
  constexpr float kRounder = 12582912.0f;
  const float ratio = x / scale;
  // Clamped first: far beyond every code, still exact, and false for NaN.
  float steps = ratio > -kMostSteps ? ratio : -kMostSteps;
  steps = steps < kMostSteps ? steps : kMostSteps;
  steps = ratio == ratio ? steps : 0.0f;
  const float rounded = (steps + kRounder) - kRounder;
  return static_cast<Code>(
      Clamp(zero_point + static_cast<int32_t>(rounded), LeastCode(kType), MostCode(kType)));
}

template <typename Code>
void QuantizeAll(const KernelCall& call) {
  const TensorInfo& y = call.output_tensor();
  const float* x = call.input<float>(0);
  const int64_t elements = y.shape.elements();
  for (int64_t i = 0; i < elements; ++i) {
    call.out<Code>()[i] = QuantizeOne<Code>(x[i], y.scale, y.zero_point);
  }
}

}  // namespace

void RunQuantize(const KernelCall& call) {
  if (call.input_tensor(0).dtype == DType::kUint8) {
    // The byte itself, moved into the range of the codes: byte - 128.
    const uint8_t* x = call.input<uint8_t>(0);
    const int64_t elements = call.output_tensor().shape.elements();
    for (int64_t i = 0; i < elements; ++i) {
      call.out<int8_t>()[i] = static_cast<int8_t>(x[i] - 128);
    }
  } else if (call.output_tensor().dtype == DType::kInt16) {
    QuantizeAll<int16_t>(call);
  } else {
    QuantizeAll<int8_t>(call);
  }
}

void RunDequantize(const KernelCall& call) {
  const TensorInfo& x = call.input_tensor(0);
  const int64_t elements = x.shape.elements();
  const ElementSteps steps(x);
  // One step for all: a single run.
  const int64_t run = steps.channels() == 1 ? elements : steps.run();
  WithCodes(call, 0, [&](const auto* codes) {
    size_t channel = 0;
    for (int64_t begin = 0; begin < elements; begin += run) {
      const float scale = steps.scale(channel);
      const int32_t zero_point = steps.zero_point(channel);
      for (int64_t i = begin; i < begin + run; ++i) {
        call.out<float>()[i] = scale * static_cast<float>(codes[i] - zero_point);
      }
      channel = channel + 1 == steps.channels() ? 0 : channel + 1;
    }
  });
}

}  // namespace qb::integer

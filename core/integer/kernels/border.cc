// Quantize and dequantize: the only floating-point arithmetic of a network.
#include <algorithm>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

// code = clamp(zp + RNE(x / scale)), NaN = zp: one float32 division, then the nearest integer.
int8_t QuantizeOne(float x, float scale, int32_t zero_point) {
  // 1.5 * 2^23: adding it leaves no bits for a fraction, so the addition rounds half to even.
  constexpr float kRounder = 12582912.0f;
  const float ratio = x / scale;
  // Clamped first: far beyond every code, still exact, and false for NaN.
  float steps = ratio > -1024.0f ? ratio : -1024.0f;
  steps = steps < 1024.0f ? steps : 1024.0f;
  steps = ratio == ratio ? steps : 0.0f;
  const float rounded = (steps + kRounder) - kRounder;
  return static_cast<int8_t>(Clamp(zero_point + static_cast<int32_t>(rounded), -128, 127));
}

}  // namespace

void RunQuantize(const KernelCall& call) {
  const TensorInfo& y = call.output_tensor();
  const float* x = call.input<float>(0);
  const int64_t elements = y.shape.elements();
  for (int64_t i = 0; i < elements; ++i) {
    call.out<int8_t>()[i] = QuantizeOne(x[i], y.scale, y.zero_point);
  }
}

void RunDequantize(const KernelCall& call) {
  const TensorInfo& x = call.input_tensor(0);
  const int64_t elements = x.shape.elements();
  for (int64_t i = 0; i < elements; ++i) {
    const int32_t steps = call.input<int8_t>(0)[i] - x.zero_point;
    call.out<float>()[i] = x.scale * static_cast<float>(steps);
  }
}

}  // namespace qb::integer

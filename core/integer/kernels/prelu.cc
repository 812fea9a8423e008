// Two slopes around the zero point, the lower one by channel.
#include "core/integer/kernels/kernel_call.h"
#include "core/integer/requant.h"

namespace qb::integer {

void RunPRelu(const KernelCall& call) {
  const PReluParams& p = call.params<PReluParams>();
  const TensorInfo& x = call.input_tensor(0);
  const int32_t zero_y = call.output_tensor().zero_point;
  const int64_t channels = static_cast<int64_t>(p.negative.size());
  const int64_t elements = x.shape.elements();
  const int8_t* codes = call.input<int8_t>(0);
  int8_t* out = call.out<int8_t>();
  for (int64_t i = 0; i < elements; i += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      const size_t at = static_cast<size_t>(c);
      const int64_t steps = codes[i + c] - x.zero_point;
      const bool below = steps < 0;
      const Requant requant = below ? p.negative[at] : p.positive;
      const int64_t scaled = RoundShift(steps * requant.mantissa, requant.shift);
      const bool negate = below && p.negate[at] != 0;
      out[i + c] = static_cast<int8_t>(Clamp(zero_y + (negate ? -scaled : scaled), -128, 127));
    }
  }
}

}  // namespace qb::integer

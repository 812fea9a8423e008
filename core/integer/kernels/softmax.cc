// Softmax over the last axis: e = table[max - x], code = zp + RNE(256 e / sum e).
#include <algorithm>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/requant.h"

namespace qb::integer {

void RunSoftmax(const KernelCall& call) {
  const int32_t* exp_table = call.params<SoftmaxParams>().exp_table.data();
  const Shape& shape = call.output_tensor().shape;
  const int64_t length = shape[shape.rank() - 1];
  const int64_t rows = shape.elements() / length;
  const int32_t zero_point = call.output_tensor().zero_point;
  const int8_t* x = call.input<int8_t>(0);
  int8_t* y = call.out<int8_t>();
  for (int64_t row = 0; row < rows; ++row, x += length, y += length) {
    const int8_t largest = *std::max_element(x, x + length);
    int64_t sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      sum += exp_table[largest - x[i]];
    }
    for (int64_t i = 0; i < length; ++i) {
      const int64_t share = DivideRoundHalfEven(int64_t{exp_table[largest - x[i]]} * 256, sum);
      y[i] = static_cast<int8_t>(Clamp(zero_point + share, -128, 127));
    }
  }
}

}  // namespace qb::integer

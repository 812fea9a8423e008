// Softmax over the last axis: e = exp of (x - max), code = zp + RNE(levels * e / sum e).
#include <algorithm>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/kernels/wide.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

// exp(-d * step) in Q0.24. Of int16 codes from a table of the high and one of the low byte of d.
template <typename Code>
int64_t ExpOf(const int32_t* table, int32_t d) {
  if constexpr (sizeof(Code) == 1) {
    return table[d];
  } else {
    return RoundShift(int64_t{table[d >> 8]} * table[256 + (d & 255)], 24);
  }
}

template <typename Code>
void RunRow(const KernelCall& call, const Code* x, int64_t first, int64_t length) {
  const int32_t* table = call.params<SoftmaxParams>().exp_table.data();
  const TensorInfo& info = call.output_tensor();
  const int64_t levels = info.dtype == DType::kInt16 ? 32768 : 256;
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8_t is a number
  const int32_t largest = *std::max_element(x, x + length);
  int64_t sum = 0;
  for (int64_t i = 0; i < length; ++i) {
    sum += ExpOf<Code>(table, largest - x[i]);
  }
  for (int64_t i = 0; i < length; ++i) {
    const int64_t share = DivideRoundHalfEven(ExpOf<Code>(table, largest - x[i]) * levels, sum);
    StoreCode(info.dtype, call.output, first + i,
              static_cast<int32_t>(
                  Clamp(info.zero_point + share, LeastCode(info.dtype), MostCode(info.dtype))));
  }
}

}  // namespace

void RunSoftmax(const KernelCall& call) {
  const Shape& shape = call.output_tensor().shape;
  const int64_t length = shape[shape.rank() - 1];
  WithCodes(call, 0, [&](const auto* x) {
    for (int64_t first = 0; first < shape.elements(); first += length) {
      RunRow(call, x + first, first, length);
    }
  });
}

}  // namespace qb::integer

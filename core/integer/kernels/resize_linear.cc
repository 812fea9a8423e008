// Linear resize with fixed-point weights and one rounding.
#include "core/integer/kernels/kernel_call.h"
#include "core/integer/kernels/wide.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

struct Blend {
  int64_t low_weight, high_weight;
};

Blend BlendAt(const LinearAxis& axis, size_t i, int32_t bits) {
  return {(int64_t{1} << bits) - axis.fraction[i], axis.fraction[i]};
}

template <typename Code>
struct Images {
  const Code* x;
  Code* y;
};

template <typename Code>
void Plain(const KernelCall& call, const Images<Code>& images) {
  const ResizeLinearParams& p = call.params<ResizeLinearParams>();
  const TensorInfo& x = call.input_tensor(0);
  const int64_t channels = x.shape[3];
  const auto at = [&](int32_t row, int32_t column, int64_t c) {
    return int64_t{images.x[(row * x.shape[2] + column) * channels + c] - x.zero_point};
  };
  Code* out = images.y;
  for (size_t r = 0; r < p.rows.low.size(); ++r) {
    const Blend row = BlendAt(p.rows, r, p.fraction_bits);
    for (size_t q = 0; q < p.columns.low.size(); ++q) {
      const Blend column = BlendAt(p.columns, q, p.fraction_bits);
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t sum =
            row.low_weight * (column.low_weight * at(p.rows.low[r], p.columns.low[q], c) +
                              column.high_weight * at(p.rows.low[r], p.columns.high[q], c)) +
            row.high_weight * (column.low_weight * at(p.rows.high[r], p.columns.low[q], c) +
                               column.high_weight * at(p.rows.high[r], p.columns.high[q], c));
        *out++ = static_cast<Code>(x.zero_point + RoundShift(sum, 2 * p.fraction_bits));
      }
    }
  }
}

// Rows first: a row of the result needs one blended row of the input.
template <typename Code>
void Separable(const KernelCall& call, const Images<Code>& images) {
  const ResizeLinearParams& p = call.params<ResizeLinearParams>();
  const TensorInfo& x = call.input_tensor(0);
  const int64_t channels = x.shape[3];
  const int64_t row_elements = x.shape[2] * channels;
  int64_t* blended = call.scratch.ReserveArray<int64_t>(0, row_elements);
  Code* out = images.y;
  for (size_t r = 0; r < p.rows.low.size(); ++r) {
    const Blend row = BlendAt(p.rows, r, p.fraction_bits);
    const Code* low = images.x + p.rows.low[r] * row_elements;
    const Code* high = images.x + p.rows.high[r] * row_elements;
    for (int64_t i = 0; i < row_elements; ++i) {
      blended[i] = row.low_weight * (low[i] - x.zero_point) + row.high_weight * (high[i] - x.zero_point);
    }
    for (size_t q = 0; q < p.columns.low.size(); ++q, out += channels) {
      const Blend column = BlendAt(p.columns, q, p.fraction_bits);
      const int64_t* left = blended + p.columns.low[q] * channels;
      const int64_t* right = blended + p.columns.high[q] * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t sum = column.low_weight * left[c] + column.high_weight * right[c];
        out[c] = static_cast<Code>(x.zero_point + RoundShift(sum, 2 * p.fraction_bits));
      }
    }
  }
}

template <typename Code>
void Run(const KernelCall& call) {
  const Images<Code> images{call.input<Code>(0), call.out<Code>()};
  if (call.reference()) {
    Plain(call, images);
  } else {
    Separable(call, images);
  }
}

}  // namespace

void RunResizeLinear(const KernelCall& call) {
  if (call.input_tensor(0).dtype == DType::kInt16) {
    Run<int16_t>(call);
  } else {
    Run<int8_t>(call);
  }
}

}  // namespace qb::integer

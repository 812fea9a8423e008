// Sum, difference and product of two tensors.
#include <array>

#include "core/integer/kernels/broadcast.h"
#include "core/integer/kernels/kernel_call.h"
#include "core/integer/kernels/wide.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

struct Operands {
  const int8_t* a;
  const int8_t* b;
  int8_t* y;
};

struct Codes {
  int32_t zero_a, zero_b, zero_y;
};

// One result of the definition.
int32_t PlainResult(const EltwiseParams& p, const Codes& zero, int32_t a, int32_t b) {
  const int64_t real_a = a - zero.zero_a;
  const int64_t real_b = b - zero.zero_b;
  if (p.kind == EltwiseKind::kMul) {
    return ApplyRequant(static_cast<int32_t>(real_a * real_b), p.mul_requant, zero.zero_y,
                        p.clamp_min, p.clamp_max);
  }
  const int64_t scaled_b = real_b * p.multiplier_b;
  const int64_t sum = real_a * p.multiplier_a + (p.kind == EltwiseKind::kAdd ? scaled_b : -scaled_b);
  return static_cast<int32_t>(
      Clamp(zero.zero_y + RoundShift(sum, p.shift), p.clamp_min, p.clamp_max));
}

// The contribution of each code of an operand, so that a sum is two loads and one rounding.
using CodeTable = std::array<int64_t, 256>;

CodeTable SumTable(int32_t zero_point, int64_t multiplier) {
  CodeTable table;
  for (int64_t code = -128; code <= 127; ++code) {
    table[static_cast<size_t>(code + 128)] = (code - zero_point) * multiplier;
  }
  return table;
}

void Sum(const EltwiseParams& p, const Codes& zero, const std::vector<BroadcastAxis>& axes,
         const Operands& operands) {
  const CodeTable table_a = SumTable(zero.zero_a, p.multiplier_a);
  const CodeTable table_b =
      SumTable(zero.zero_b, p.kind == EltwiseKind::kAdd ? p.multiplier_b : -p.multiplier_b);
  const int64_t half = int64_t{1} << (p.shift - 1);
  const int32_t shift = p.shift;
  const int64_t low = p.clamp_min;
  const int64_t high = p.clamp_max;
  ForEachRun(axes, [&](int64_t at_a, int64_t at_b, int64_t at_y, const BroadcastAxis& axis) {
    const int8_t* a = operands.a + at_a;
    const int8_t* b = operands.b + at_b;
    int8_t* y = operands.y + at_y;
    for (int64_t i = 0; i < axis.extent; ++i) {
      const int64_t sum = table_a[static_cast<uint8_t>(a[i * axis.stride_a]) ^ 0x80] +
                          table_b[static_cast<uint8_t>(b[i * axis.stride_b]) ^ 0x80];
      const int64_t odd = (sum >> shift) & 1;
      const int64_t code = zero.zero_y + ((sum + half - 1 + odd) >> shift);
      y[i] = static_cast<int8_t>(Clamp(code, low, high));
    }
  });
}

void Product(const EltwiseParams& p, const Codes& zero, const std::vector<BroadcastAxis>& axes,
             const Operands& operands) {
  const int64_t half = int64_t{1} << (p.mul_requant.shift - 1);
  ForEachRun(axes, [&](int64_t at_a, int64_t at_b, int64_t at_y, const BroadcastAxis& axis) {
    const int8_t* a = operands.a + at_a;
    const int8_t* b = operands.b + at_b;
    int8_t* y = operands.y + at_y;
    for (int64_t i = 0; i < axis.extent; ++i) {
      const int64_t product = int64_t{a[i * axis.stride_a] - zero.zero_a} *
                              (b[i * axis.stride_b] - zero.zero_b) * p.mul_requant.mantissa;
      const int64_t odd = (product >> p.mul_requant.shift) & 1;
      const int64_t code = zero.zero_y + ((product + half - 1 + odd) >> p.mul_requant.shift);
      y[i] = static_cast<int8_t>(Clamp(code, p.clamp_min, p.clamp_max));
    }
  });
}

// Where any tensor is int16.
template <typename A, typename B>
void RunWide(const KernelCall& call, const Codes& zero, const std::vector<BroadcastAxis>& axes,
             const A* a, const B* b) {
  const EltwiseParams& p = call.params<EltwiseParams>();
  const DType dtype = call.output_tensor().dtype;
  ForEachRun(axes, [&](int64_t at_a, int64_t at_b, int64_t at_y, const BroadcastAxis& axis) {
    for (int64_t i = 0; i < axis.extent; ++i) {
      StoreCode(dtype, call.output, at_y + i,
                PlainResult(p, zero, a[at_a + i * axis.stride_a], b[at_b + i * axis.stride_b]));
    }
  });
}

}  // namespace

void RunEltwise(const KernelCall& call) {
  const EltwiseParams& p = call.params<EltwiseParams>();
  const TensorInfo& a = call.input_tensor(0);
  const TensorInfo& b = call.input_tensor(1);
  const TensorInfo& y = call.output_tensor();
  const Codes zero{a.zero_point, b.zero_point, y.zero_point};
  const std::vector<BroadcastAxis> axes = BroadcastAxes(a.shape, b.shape, y.shape);
  if (HasInt16(call)) {
    WithCodes(call, 0, [&](const auto* codes_a) {
      WithCodes(call, 1, [&](const auto* codes_b) { RunWide(call, zero, axes, codes_a, codes_b); });
    });
    return;
  }
  const Operands operands{call.input<int8_t>(0), call.input<int8_t>(1), call.out<int8_t>()};
  if (call.reference()) {
    ForEachRun(axes, [&](int64_t at_a, int64_t at_b, int64_t at_y, const BroadcastAxis& axis) {
      for (int64_t i = 0; i < axis.extent; ++i) {
        operands.y[at_y + i] = static_cast<int8_t>(
            PlainResult(p, zero, operands.a[at_a + i * axis.stride_a],
                        operands.b[at_b + i * axis.stride_b]));
      }
    });
  } else if (p.kind == EltwiseKind::kMul) {
    Product(p, zero, axes, operands);
  } else {
    Sum(p, zero, axes, operands);
  }
}

}  // namespace qb::integer

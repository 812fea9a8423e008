#include <algorithm>
#include <vector>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/kernels/micro.h"
#include "core/integer/kernels/wide.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kPair = 2;

// One product of a batch: a [m, k] times b [k, n].
struct Product {
  int64_t m = 1, k = 1, n = 1;
  int32_t zero_a = 0, zero_b = 0;
};

Product ProductOf(const KernelCall& call) {
  const TensorInfo& a = call.input_tensor(0);
  const TensorInfo& b = call.input_tensor(1);
  const int64_t rank = a.shape.rank();
  return {a.shape[rank - 2], a.shape[rank - 1], b.shape[rank - 1], a.zero_point, b.zero_point};
}

void Plain(const KernelCall& call, const Product& p, const int8_t* a, const int8_t* b, int8_t* y) {
  const MatMulParams& params = call.params<MatMulParams>();
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      int32_t acc = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        acc += (a[i * p.k + k] - p.zero_a) * (b[k * p.n + j] - p.zero_b);
      }
      y[i * p.n + j] = static_cast<int8_t>(ApplyRequant(acc, params.requant,
                                                        call.output_tensor().zero_point,
                                                        params.clamp_min, params.clamp_max));
    }
  }
}

// b as int16 in blocks of 8 columns and pairs of rows, as the micro kernel wants its weights.
int16_t* PackColumns(const KernelCall& call, const Product& p, const int8_t* b) {
  const int64_t pairs = (p.k + 1) / kPair;
  const int64_t blocks = (p.n + kLanes - 1) / kLanes;
  const int64_t elements = blocks * pairs * kPair * kLanes;
  int16_t* packed = call.scratch.ReserveArray<int16_t>(1, elements);
  std::fill(packed, packed + elements, int16_t{0});
  for (int64_t k = 0; k < p.k; ++k) {
    for (int64_t j = 0; j < p.n; ++j) {
      packed[((j / kLanes * pairs + k / kPair) * kLanes + j % kLanes) * kPair + k % kPair] =
          static_cast<int16_t>(b[k * p.n + j] - p.zero_b);
    }
  }
  return packed;
}

void Packed(const KernelCall& call, const Product& p, const int8_t* a, const int8_t* b, int8_t* y) {
  const MatMulParams& params = call.params<MatMulParams>();
  const int64_t pairs = (p.k + 1) / kPair;
  const int64_t blocks = (p.n + kLanes - 1) / kLanes;
  const int16_t* columns = PackColumns(call, p, b);
  int16_t* rows = call.scratch.ReserveArray<int16_t>(0, kMostRows * pairs * kPair);
  std::fill(rows, rows + kMostRows * pairs * kPair, int16_t{0});
  const std::vector<int32_t> offset(kMostBlocks * kLanes, 0);
  const std::vector<int32_t> mantissa(kMostBlocks * kLanes, params.requant.mantissa);
  const std::vector<int64_t> shift(kMostBlocks * kLanes, params.requant.shift);
  const RequantRow table{offset.data(), mantissa.data(), shift.data(),
                         call.output_tensor().zero_point, params.clamp_min, params.clamp_max};
  alignas(64) int32_t raw[kMostRows * kMostBlocks * kLanes];
  const int64_t segment = 0;
  MicroTile tile{{}, &segment, 1, pairs, nullptr, pairs * kPair * kLanes, raw, kMostBlocks * kLanes};
  for (int64_t i = 0; i < p.m; i += kMostRows) {
    const int64_t count = std::min(kMostRows, p.m - i);
    for (int64_t r = 0; r < count; ++r) {
      int16_t* row = rows + r * pairs * kPair;
      for (int64_t k = 0; k < p.k; ++k) {
        row[k] = static_cast<int16_t>(a[(i + r) * p.k + k] - p.zero_a);
      }
      tile.pixels[r] = row;
    }
    for (int64_t block = 0; block < blocks; block += kMostBlocks) {
      tile.weights = columns + block * tile.block_stride;
      PairMicroKernel(call.level)(tile, count, std::min(kMostBlocks, blocks - block));
      const int64_t j = block * kLanes;
      const int64_t channels = std::min(p.n - j, kMostBlocks * kLanes);
      for (int64_t r = 0; r < count; ++r) {
        RequantKernelFor(call.level)(table, raw + r * tile.raw_stride, channels,
                                     y + (i + r) * p.n + j);
      }
    }
  }
}

// Where any tensor is int16: b in the two bytes of its codes if it is, sums in 64 bits.
template <typename Code>
int16_t* PackBytes(const KernelCall& call, const Product& p, const Code* b, bool high) {
  const int64_t pairs = (p.k + 1) / kPair;
  const int64_t elements = (p.n + kLanes - 1) / kLanes * pairs * kPair * kLanes;
  int16_t* packed = call.scratch.ReserveArray<int16_t>(high ? 2 : 1, elements);
  std::fill(packed, packed + elements, int16_t{0});
  for (int64_t k = 0; k < p.k; ++k) {
    for (int64_t j = 0; j < p.n; ++j) {
      const int32_t value = b[k * p.n + j] - p.zero_b;
      const int32_t stored = sizeof(Code) == 1 ? value : (high ? HighByte(value) : LowByte(value));
      packed[((j / kLanes * pairs + k / kPair) * kLanes + j % kLanes) * kPair + k % kPair] =
          static_cast<int16_t>(stored);
    }
  }
  return packed;
}

void StoreRow(const KernelCall& call, const int64_t* sums, int64_t first, int64_t count) {
  const MatMulParams& params = call.params<MatMulParams>();
  const TensorInfo& y = call.output_tensor();
  for (int64_t j = 0; j < count; ++j) {
    StoreCode(y.dtype, call.output, first + j,
              ApplyWideRequant(sums[j], params.requant, y.zero_point, params.clamp_min,
                               params.clamp_max));
  }
}

template <typename A, typename B>
void PlainWide(const KernelCall& call, const Product& p, const A* a, const B* b, int64_t y_at) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      int64_t acc = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        acc += int64_t{a[i * p.k + k] - p.zero_a} * (b[k * p.n + j] - p.zero_b);
      }
      StoreRow(call, &acc, y_at + i * p.n + j, 1);
    }
  }
}

template <typename A, typename B>
void PackedWide(const KernelCall& call, const Product& p, const A* a, const B* b, int64_t y_at) {
  const int64_t pairs = (p.k + 1) / kPair;
  const int64_t blocks = (p.n + kLanes - 1) / kLanes;
  const int16_t* low = PackBytes(call, p, b, false);
  const int16_t* high = sizeof(B) == 2 ? PackBytes(call, p, b, true) : nullptr;
  int16_t* rows = call.scratch.ReserveArray<int16_t>(0, kMostRows * pairs * kPair);
  std::fill(rows, rows + kMostRows * pairs * kPair, int16_t{0});
  alignas(64) int32_t raw[kMostRows * kMostBlocks * kLanes];
  alignas(64) int64_t sums[kMostRows * kMostBlocks * kLanes];
  const int64_t segment = 0;
  MicroTile tile{{}, &segment, 1, pairs, nullptr, pairs * kPair * kLanes, raw, kMostBlocks * kLanes};
  for (int64_t i = 0; i < p.m; i += kMostRows) {
    const int64_t count = std::min(kMostRows, p.m - i);
    for (int64_t r = 0; r < count; ++r) {
      int16_t* row = rows + r * pairs * kPair;
      for (int64_t k = 0; k < p.k; ++k) {
        row[k] = static_cast<int16_t>(a[(i + r) * p.k + k] - p.zero_a);
      }
      tile.pixels[r] = row;
    }
    for (int64_t block = 0; block < blocks; block += kMostBlocks) {
      const int64_t width = std::min(kMostBlocks, blocks - block);
      std::fill(std::begin(sums), std::end(sums), int64_t{0});
      tile.weights = low + block * tile.block_stride;
      AddProducts(PairMicroKernel(call.level), tile, {count, width}, 1, sums);
      if (high != nullptr) {
        tile.weights = high + block * tile.block_stride;
        AddProducts(PairMicroKernel(call.level), tile, {count, width}, 256, sums);
      }
      const int64_t columns = std::min(p.n - block * kLanes, kMostBlocks * kLanes);
      for (int64_t r = 0; r < count; ++r) {
        StoreRow(call, sums + r * tile.raw_stride, y_at + (i + r) * p.n + block * kLanes, columns);
      }
    }
  }
}

// One product of a batch; the offsets in elements.
void RunWide(const KernelCall& call, const Product& p, int64_t a_at, int64_t b_at, int64_t y_at) {
  WithCodes(call, 0, [&](const auto* a) {
    WithCodes(call, 1, [&](const auto* b) {
      if (call.reference()) {
        PlainWide(call, p, a + a_at, b + b_at, y_at);
      } else {
        PackedWide(call, p, a + a_at, b + b_at, y_at);
      }
    });
  });
}

// Elements from one matrix of the operand to the next along each leading axis; 0 where it is 1.
std::vector<int64_t> BatchStrides(const Shape& shape, int64_t matrix) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank() - 2));
  for (int64_t axis = shape.rank() - 3; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = shape[axis] == 1 ? 0 : matrix;
    matrix *= shape[axis];
  }
  return strides;
}

}  // namespace

void RunMatMul(const KernelCall& call) {
  const Product p = ProductOf(call);
  const Shape& out = call.output_tensor().shape;
  const std::vector<int64_t> a_strides = BatchStrides(call.input_tensor(0).shape, p.m * p.k);
  const std::vector<int64_t> b_strides = BatchStrides(call.input_tensor(1).shape, p.k * p.n);
  const int64_t matrices = out.elements() / (p.m * p.n);
  for (int64_t batch = 0; batch < matrices; ++batch) {
    int64_t rest = batch;
    int64_t a_at = 0;
    int64_t b_at = 0;
    for (int64_t axis = out.rank() - 3; axis >= 0; --axis) {
      const int64_t index = rest % out[axis];
      rest /= out[axis];
      a_at += index * a_strides[static_cast<size_t>(axis)];
      b_at += index * b_strides[static_cast<size_t>(axis)];
    }
    if (HasInt16(call)) {
      RunWide(call, p, a_at, b_at, batch * p.m * p.n);
      continue;
    }
    const int8_t* a = call.input<int8_t>(0) + a_at;
    const int8_t* b = call.input<int8_t>(1) + b_at;
    int8_t* y = call.out<int8_t>() + batch * p.m * p.n;
    if (call.reference()) {
      Plain(call, p, a, b, y);
    } else {
      Packed(call, p, a, b, y);
    }
  }
}

}  // namespace qb::integer

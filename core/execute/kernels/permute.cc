#include "core/execute/kernels/permute.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/strided_loop.h"

namespace qb::execute {
namespace {

// Four elements of 4 bytes. The compilers of this project both know vector_size and the shuffle.
using Quad = uint32_t __attribute__((vector_size(16)));

Quad LoadQuad(const uint32_t* from) {
  Quad quad;
  std::memcpy(&quad, from, sizeof(quad));
  return quad;
}

// A 4 x 4 matrix in registers: pairs of rows interleaved, then pairs of those.
void TransposeQuads(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  const Quad r0 = LoadQuad(from);
  const Quad r1 = LoadQuad(from + from_stride);
  const Quad r2 = LoadQuad(from + 2 * from_stride);
  const Quad r3 = LoadQuad(from + 3 * from_stride);
  const Quad low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  const Quad low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const Quad high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const Quad high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  const Quad columns[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                           __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                           __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                           __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int64_t c = 0; c < 4; ++c) {
    std::memcpy(to + c * to_stride, &columns[c], sizeof(Quad));
  }
}

// A matrix in memory: rows of contiguous elements, `stride` elements apart.
template <typename T>
struct Matrix {
  T* data;
  int64_t stride;

  T* at(int64_t row, int64_t column) const { return data + row * stride + column; }
};

template <typename T>
void TransposeTile(Matrix<const T> from, Matrix<T> to, int64_t rows, int64_t columns) {
  int64_t r = 0;
  if constexpr (sizeof(T) == 4) {
    for (; r + 4 <= rows; r += 4) {
      int64_t c = 0;
      for (; c + 4 <= columns; c += 4) {
        TransposeQuads(from.at(r, c), from.stride, to.at(c, r), to.stride);
      }
      for (; c < columns; ++c) {
        for (int64_t k = r; k < r + 4; ++k) {
          *to.at(c, k) = *from.at(k, c);
        }
      }
    }
  }
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      *to.at(c, r) = *from.at(r, c);
    }
  }
}

// A matrix of kRows rows: images of few channels, where each column is written in one go.
template <typename T, int64_t kRows>
void TransposeNarrow(Matrix<const T> from, Matrix<T> to, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < kRows; ++r) {
      *to.at(c, r) = *from.at(r, c);
    }
  }
}

// [rows, columns] -> [columns, rows]; in tiles, so that lines of both sides stay in the first-level
// cache.
template <typename T>
void TransposeTiled(Matrix<const T> from, Matrix<T> to, int64_t rows, int64_t columns) {
  if (rows == 2) {
    return TransposeNarrow<T, 2>(from, to, columns);
  }
  if (rows == 3) {
    return TransposeNarrow<T, 3>(from, to, columns);
  }
  constexpr int64_t kTile = 32;
  for (int64_t r = 0; r < rows; r += kTile) {
    for (int64_t c = 0; c < columns; c += kTile) {
      TransposeTile<T>({from.at(r, c), from.stride}, {to.at(c, r), to.stride},
                       std::min(kTile, rows - r), std::min(kTile, columns - c));
    }
  }
}

// Rows of the result that are contiguous in the operand.
template <typename T>
KernelOr MakeRowCopy(StridedLoop<1> loop) {
  return MakeBodyKernel([loop = std::move(loop)](const KernelArgs& args) {
    const T* from = args.operand<T>(0);
    T* to = args.output<T>();
    const size_t bytes = static_cast<size_t>(loop.inner()) * sizeof(T);
    loop.ForEachRow([&](int64_t at, const std::array<int64_t, 1>& offsets) {
      std::memcpy(to + at, from + offsets[0], bytes);
    });
  });
}

// The last two joined dimensions are a matrix transpose when the one before the last is contiguous
// in the operand; other cases walk the rows with a stride.
template <typename T>
KernelOr MakeGather(StridedLoop<1> loop) {
  const size_t rank = loop.dims.size();
  const bool is_matrix = rank >= 2 && loop.strides[0][rank - 2] == 1;
  if (!is_matrix) {
    return MakeBodyKernel([loop = std::move(loop)](const KernelArgs& args) {
      const T* from = args.operand<T>(0);
      T* to = args.output<T>();
      const int64_t stride = loop.strides[0].back();
      loop.ForEachRow([&](int64_t at, const std::array<int64_t, 1>& offsets) {
        for (int64_t i = 0; i < loop.inner(); ++i) {
          to[at + i] = from[offsets[0] + i * stride];
        }
      });
    });
  }
  // Result rows = operand columns. The outer loop walks the other dimensions with inner() == 1.
  const int64_t columns = loop.dims[rank - 2];
  const int64_t rows = loop.dims[rank - 1];
  const int64_t row_stride = loop.strides[0][rank - 1];
  loop.dims.resize(rank - 2);
  loop.strides[0].resize(rank - 2);
  loop.dims.push_back(1);
  loop.strides[0].push_back(1);
  return MakeBodyKernel(
      [loop = std::move(loop), columns, rows, row_stride](const KernelArgs& args) {
        const T* from = args.operand<T>(0);
        T* to = args.output<T>();
        loop.ForEachRow([&](int64_t at, const std::array<int64_t, 1>& offsets) {
          TransposeTiled<T>({from + offsets[0], row_stride}, {to + at * rows * columns, rows}, rows,
                            columns);
        });
      });
}

}  // namespace

void TransposeMatrices(const void* from, void* to, int64_t outer, int64_t rows, int64_t columns) {
  const uint32_t* source = static_cast<const uint32_t*>(from);
  uint32_t* target = static_cast<uint32_t*>(to);
  for (int64_t o = 0; o < outer; ++o) {
    TransposeTiled<uint32_t>({source + o * rows * columns, columns},
                             {target + o * rows * columns, rows}, rows, columns);
  }
}

KernelOr MakePermutation(DType dtype, absl::Span<const int64_t> dims,
                         absl::Span<const int64_t> axes) {
  const std::vector<int64_t> own = Shape(dims).strides();
  std::vector<int64_t> result_dims;
  std::vector<int64_t> strides;
  for (int64_t axis : axes) {
    result_dims.push_back(dims[static_cast<size_t>(axis)]);
    strides.push_back(own[static_cast<size_t>(axis)]);
  }
  StridedLoop<1> loop = JoinLoops<1>(result_dims, {strides});
  return DispatchSize(dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return loop.strides[0].back() == 1 ? MakeRowCopy<T>(loop) : MakeGather<T>(loop);
  });
}

}  // namespace qb::execute

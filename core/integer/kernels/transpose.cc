// Permuting axes. Neighbouring axes that stay neighbours are joined first; what remains is nearly
// always one exchange of two axes ([B, R, C] -> [B, C, R]), as between NCHW and NHWC.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/integer/kernels/kernel_call.h"

namespace qb::integer {
namespace {

constexpr int64_t kTile = 32;
constexpr size_t kMostRank = 8;  // of a valid transpose

struct Permutation {
  std::vector<int64_t> dims;  // of the input
  std::vector<int64_t> axes;  // output axis i is input axis axes[i]
};

// Input axes first..last that stay neighbours, with the product of their extents.
struct Joined {
  int64_t first = 0, last = 0;
  int64_t extent = 1;
};

// Joins axes; axes of extent 1 vanish.
Permutation Simplify(const Shape& shape, const std::vector<int64_t>& axes) {
  std::vector<int64_t> rank_among_wide(static_cast<size_t>(shape.rank()), 0);
  int64_t wide = 0;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    rank_among_wide[static_cast<size_t>(axis)] = wide;
    wide += shape[axis] > 1 ? 1 : 0;
  }
  std::vector<Joined> joined;  // in output order
  for (const int64_t axis : axes) {
    const int64_t place = rank_among_wide[static_cast<size_t>(axis)];
    if (shape[axis] == 1) {
      continue;
    }
    if (!joined.empty() && joined.back().last + 1 == place) {
      joined.back().last = place;
      joined.back().extent *= shape[axis];
    } else {
      joined.push_back({place, place, shape[axis]});
    }
  }
  Permutation result;
  result.dims.resize(joined.size());
  for (const Joined& group : joined) {
    const auto before = std::count_if(joined.begin(), joined.end(), [&](const Joined& other) {
      return other.first < group.first;
    });
    result.axes.push_back(before);
    result.dims[static_cast<size_t>(before)] = group.extent;
  }
  return result;
}

// [rows, columns] -> [columns, rows], in tiles that stay in the first-level cache.
template <typename T>
void Exchange(const T* x, int64_t rows, int64_t columns, T* y) {
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    const int64_t r1 = std::min(rows, r0 + kTile);
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t c1 = std::min(columns, c0 + kTile);
      for (int64_t c = c0; c < c1; ++c) {
        for (int64_t r = r0; r < r1; ++r) {
          y[c * rows + r] = x[r * columns + c];
        }
      }
    }
  }
}

template <typename T>
void Any(const T* x, const Permutation& p, T* y) {
  const size_t rank = p.dims.size();
  const std::vector<int64_t> input_strides = Shape(p.dims).strides();
  std::array<int64_t, kMostRank> extents{};
  std::array<int64_t, kMostRank> strides{};
  std::array<int64_t, kMostRank> index{};
  int64_t elements = 1;
  for (size_t i = 0; i < rank; ++i) {
    extents[i] = p.dims[static_cast<size_t>(p.axes[i])];
    strides[i] = input_strides[static_cast<size_t>(p.axes[i])];
    elements *= extents[i];
  }
  int64_t from = 0;
  for (int64_t i = 0; i < elements; ++i) {
    y[i] = x[from];
    for (size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < extents[axis]) {
        break;
      }
      from -= strides[axis] * extents[axis];
      index[axis] = 0;
    }
  }
}

template <typename T>
void Run(const KernelCall& call) {
  const Shape& shape = call.input_tensor(0).shape;
  const std::vector<int64_t>& axes = call.params<TransposeParams>().axes;
  const T* x = call.input<T>(0);
  T* y = call.out<T>();
  if (call.reference()) {
    Any(x, Permutation{shape.dims(), axes}, y);
    return;
  }
  const Permutation p = Simplify(shape, axes);
  const size_t rank = p.dims.size();
  if (rank <= 1) {
    std::memcpy(y, x, static_cast<size_t>(shape.elements()) * sizeof(T));
  } else if (rank == 2) {
    Exchange(x, p.dims[0], p.dims[1], y);
  } else if (rank == 3 && p.axes[0] == 0) {
    const int64_t matrix = p.dims[1] * p.dims[2];
    for (int64_t b = 0; b < p.dims[0]; ++b) {
      Exchange(x + b * matrix, p.dims[1], p.dims[2], y + b * matrix);
    }
  } else {
    Any(x, p, y);
  }
}

}  // namespace

void RunTranspose(const KernelCall& call) {
  if (SizeBytes(call.input_tensor(0).dtype) == 1) {
    Run<uint8_t>(call);
  } else if (SizeBytes(call.input_tensor(0).dtype) == 2) {
    Run<uint16_t>(call);
  } else {
    Run<uint32_t>(call);
  }
}

}  // namespace qb::integer

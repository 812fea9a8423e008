// Sums and means over axes.
#include <algorithm>
#include <vector>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

// An input seen as [outer, reduced, inner] where the reduced axes are neighbours.
struct Runs {
  int64_t outer = 1, reduced = 1, inner = 1;
};

// False when reduced and kept axes alternate more than once.
bool AsRuns(const Shape& shape, const std::vector<bool>& is_reduced, Runs& runs) {
  int stage = 0;  // 0 before, 1 inside, 2 after the reduced axes
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) {
      continue;
    }
    if (is_reduced[static_cast<size_t>(axis)]) {
      if (stage == 2) {
        return false;
      }
      stage = 1;
      runs.reduced *= shape[axis];
    } else {
      stage = stage == 1 ? 2 : stage;
      (stage == 0 ? runs.outer : runs.inner) *= shape[axis];
    }
  }
  return true;
}

void SumRuns(const int8_t* x, const Runs& runs, int32_t* sums) {
  for (int64_t o = 0; o < runs.outer; ++o, sums += runs.inner) {
    for (int64_t r = 0; r < runs.reduced; ++r, x += runs.inner) {
      for (int64_t i = 0; i < runs.inner; ++i) {
        sums[i] += x[i];
      }
    }
  }
}

// Any axes: each element finds its sum through the strides of the result.
void SumAny(const int8_t* x, const Shape& shape, const std::vector<bool>& is_reduced,
            int32_t* sums) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 0);
  int64_t stride = 1;
  for (int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
    if (!is_reduced[static_cast<size_t>(axis)]) {
      strides[static_cast<size_t>(axis)] = stride;
      stride *= shape[axis];
    }
  }
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  const int64_t elements = shape.elements();
  for (int64_t i = 0; i < elements; ++i) {
    int64_t at = 0;
    int64_t rest = i;
    for (int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
      at += rest % shape[axis] * strides[static_cast<size_t>(axis)];
      rest /= shape[axis];
    }
    sums[at] += x[i];
  }
}

}  // namespace

void RunReduce(const KernelCall& call) {
  const ReduceParams& p = call.params<ReduceParams>();
  const TensorInfo& x = call.input_tensor(0);
  const TensorInfo& y = call.output_tensor();
  std::vector<bool> is_reduced(static_cast<size_t>(x.shape.rank()), false);
  for (const int64_t axis : p.axes) {
    is_reduced[static_cast<size_t>(axis)] = true;
  }
  const int64_t results = y.shape.elements();
  const int64_t count = x.shape.elements() / results;
  int32_t* sums = call.scratch.ReserveArray<int32_t>(0, results);
  std::fill(sums, sums + results, static_cast<int32_t>(-x.zero_point * count));
  Runs runs;
  if (!call.reference() && AsRuns(x.shape, is_reduced, runs)) {
    SumRuns(call.input<int8_t>(0), runs, sums);
  } else {
    SumAny(call.input<int8_t>(0), x.shape, is_reduced, sums);
  }
  for (int64_t i = 0; i < results; ++i) {
    call.out<int8_t>()[i] = static_cast<int8_t>(
        ApplyRequant(sums[i], p.requant, y.zero_point, p.clamp_min, p.clamp_max));
  }
}

}  // namespace qb::integer

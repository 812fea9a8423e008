// Determinants by elimination with row exchanges, in double.
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/dtype_dispatch.h"

namespace qb::execute {
namespace {

double Determinant(std::vector<double> matrix, int64_t n) {
  const auto at = [&](int64_t row, int64_t column) -> double& {
    return matrix[static_cast<size_t>(row * n + column)];
  };
  double product = 1.0;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t row = k + 1; row < n; ++row) {
      pivot = std::abs(at(row, k)) > std::abs(at(pivot, k)) ? row : pivot;
    }
    if (at(pivot, k) == 0.0) {
      return 0.0;
    }
    if (pivot != k) {
      for (int64_t column = k; column < n; ++column) {
        std::swap(at(pivot, column), at(k, column));
      }
      product = -product;
    }
    product *= at(k, k);
    for (int64_t row = k + 1; row < n; ++row) {
      const double factor = at(row, k) / at(k, k);
      for (int64_t column = k + 1; column < n; ++column) {
        at(row, column) -= factor * at(k, column);
      }
    }
  }
  return product;
}

}  // namespace

KernelOr MakeDet(const KernelRequest& request) {
  const Shape& shape = request.operand_shape(0);
  const int64_t n = shape[shape.rank() - 1];
  const int64_t matrices = request.node->shape().elements();
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([=](const KernelArgs& args) {
      const T* x = args.operand<T>(0);
      for (int64_t i = 0; i < matrices; ++i, x += n * n) {
        args.output<T>()[i] = static_cast<T>(Determinant(std::vector<double>(x, x + n * n), n));
      }
    });
  });
}

}  // namespace qb::execute
